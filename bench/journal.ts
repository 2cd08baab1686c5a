// What keeping a journal costs, and whether a late step of a run costs what an early one does.
//
//   npm run bench:journal [-- --rounds 5]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createAgent, defineTool, type Journal, type Model, memoryJournal } from '../src/index.ts'
import { postgresStore } from '../src/postgres/index.ts'
import { sqliteStore } from '../src/sqlite/index.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { FakeModel } from './fakeModel.ts'
import { machineLine } from './report.ts'
import { spreadOf } from './statistics.ts'
import { AdditionTool, INSTRUCTIONS, QUESTION } from './task.ts'

/** Steps of a run. Each appends three times: what the model said, that the tool begins, what it gave. */
const LENGTH = 1000

/** The steps whose cost is shown: each with the nine before it. */
const SHOWN = [10, 100, 1000]
const WINDOW = 10

interface Moment {
  /** Milliseconds. */
  readonly wall: number
  /** Microseconds of CPU of this process. */
  readonly cpu: number
}

/** Runs once. Gives back when each step began, and when the last one ended. */
async function measuredRun(journal: Journal | undefined): Promise<readonly Moment[]> {
  const moments: Moment[] = []
  const fake = new FakeModel(LENGTH + 1)
  const model: Model = {
    id: fake.id,
    generate() {
      const { user, system } = process.cpuUsage()
      moments.push({ wall: performance.now(), cpu: user + system })
      return fake.generate()
    },
  }
  const agent = createAgent({
    model,
    tools: [defineTool(new AdditionTool())],
    instructions: INSTRUCTIONS,
    limits: { steps: Number.POSITIVE_INFINITY },
    ...(journal === undefined ? {} : { journal }),
  })
  const outcome = await agent.run(QUESTION)
  if (outcome.status !== 'done' || moments.length !== LENGTH + 1) {
    throw new Error(`a run of ${moments.length} calls ended as ${JSON.stringify(outcome).slice(0, 500)}`)
  }
  return moments
}

/** What a step cost on average, of the ten that end with this one. */
function costAt(step: number, moments: readonly Moment[]): Moment {
  const [from, to] = [moments[step - WINDOW], moments[step]]
  if (from === undefined || to === undefined) throw new Error(`there is no step ${step}`)
  return { wall: (to.wall - from.wall) / WINDOW, cpu: (to.cpu - from.cpu) / WINDOW }
}

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } })
const folder = mkdtempSync(join(tmpdir(), 'loopchart-bench-'))
const server = await startPostgres({ fsync: true })
const sqlite = sqliteStore({ path: join(folder, 'runs.db') })
const postgres = postgresStore(server)
try {
  const stores: Readonly<Record<string, () => Journal | undefined>> = {
    none: () => undefined,
    memory: memoryJournal,
    SQLite: () => sqlite.journal,
    Postgres: () => postgres.journal,
  }
  const runs: Record<string, (readonly Moment[])[]> = {}
  for (const open of Object.values(stores)) await measuredRun(open())
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [name, open] of Object.entries(stores)) {
      globalThis.gc?.()
      runs[name] = [...(runs[name] ?? []), await measuredRun(open())]
    }
  }
  console.log(machineLine())
  console.log(
    `\nOne step, over ${values.rounds} runs of ${LENGTH} steps: ms on the clock, median [best]; µs of CPU, best\n`,
  )
  console.log(`| journal | ${SHOWN.map((step) => `step ${step}`).join(' | ')} |`)
  console.log(`|--|${SHOWN.map(() => '--|').join('')}`)
  for (const [name, measured] of Object.entries(runs)) {
    const cells = SHOWN.map((step) => {
      const costs = measured.map((moments) => costAt(step, moments))
      const wall = spreadOf(costs.map((cost) => cost.wall))
      const cpu = spreadOf(costs.map((cost) => cost.cpu))
      return `${wall.median.toFixed(2)} [${wall.least.toFixed(2)}]; ${cpu.least.toFixed(0)}`
    })
    console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
} finally {
  sqlite.close()
  await postgres.close()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
