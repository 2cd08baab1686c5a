// Whether memory stays bounded: over the steps of a long run, and over many runs of one agent.
//
//   npm run bench:memory
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAgent, defineTool, type Journal, type JournalEntry, type Model } from '../src/index.ts'
import { createAgentMachine } from '../src/machines/agentMachine.ts'
import { resolveSettings } from '../src/machines/settings.ts'
import { foldJournal } from '../src/runtime/journalFold.ts'
import { PureMachine } from '../src/runtime/pureMachine.ts'
import { sqliteStore } from '../src/sqlite/index.ts'
import { FakeModel } from './fakeModel.ts'
import { machineLine } from './report.ts'
import { AdditionTool, INSTRUCTIONS, QUESTION } from './task.ts'

const LENGTH = 1000
const RUNS = 1000
const RUN_LENGTH = 10
const SHOWN = 200

const { gc } = globalThis
if (gc === undefined) throw new Error('Run with --expose-gc: what is garbage must not count.')

function heapKilobytes(): number {
  gc?.()
  return process.memoryUsage().heapUsed / 1024
}

function agentOf(journal: Journal, model: Model) {
  return createAgent({
    model,
    tools: [defineTool(new AdditionTool())],
    instructions: INSTRUCTIONS,
    limits: { steps: Number.POSITIVE_INFINITY },
    journal,
  })
}

/** Shows the heap at each so many steps of one run. */
async function longRun(journal: Journal): Promise<void> {
  const fake = new FakeModel(LENGTH + 1)
  let before: number | undefined
  const model: Model = {
    id: fake.id,
    generate() {
      if (fake.calls > 0 && fake.calls % SHOWN === 0) {
        const heap = heapKilobytes()
        const growth = before === undefined ? '' : ((heap - before) / SHOWN).toFixed(2)
        console.log(`| ${fake.calls} | ${heap.toFixed(0)} | ${growth} |`)
        before = heap
      }
      return fake.generate()
    },
  }
  const outcome = await agentOf(journal, model).run(QUESTION, { runId: 'long' })
  if (outcome.status !== 'done') throw new Error(`the run ended as ${outcome.status}`)
}

/** Shows the heap after each so many runs. */
async function manyRuns(journal: Journal): Promise<void> {
  const agent = agentOf(journal, new FakeModel(RUN_LENGTH))
  for (let run = 1; run <= RUNS; run++) {
    const outcome = await agent.run(QUESTION)
    if (outcome.status !== 'done') throw new Error(`run ${run} ended as ${outcome.status}`)
    if (run % SHOWN === 0) console.log(`| ${run} | ${heapKilobytes().toFixed(0)} |`)
  }
}

/** Bytes of JSON of the machine's state after so many entries, without the transcript that it points into. */
function snapshotBytes(entries: readonly JournalEntry[], machine: PureMachine): number {
  const { snapshot } = foldJournal(machine, entries, { runId: 'long', watched: false }).fold
  const { transcript: _transcript, ...context } = snapshot.context
  return JSON.stringify({ value: snapshot.value, context, children: Object.keys(snapshot.children) }).length
}

const folder = mkdtempSync(join(tmpdir(), 'loopchart-bench-'))
const { journal, close } = sqliteStore({ path: join(folder, 'runs.db') })
try {
  console.log(machineLine())
  console.log(
    `\nHeap in one run, KB after garbage collection\n\n| step | heap | growth per step |\n|--|--|--|`,
  )
  await longRun(journal)
  const entries = (await journal.load('long')) ?? []
  const machine = new PureMachine(createAgentMachine(resolveSettings({})))
  console.log(`\nState of the machine, bytes of JSON without the transcript\n\n| step | state |\n|--|--|`)
  for (const step of [10, 100, 1000]) {
    console.log(`| ${step} | ${snapshotBytes(entries.slice(0, 3 * step), machine)} |`)
  }
  console.log(
    `\nHeap over runs of ${RUN_LENGTH} steps, KB after garbage collection\n\n| runs | heap |\n|--|--|`,
  )
  await manyRuns(journal)
} finally {
  close()
  rmSync(folder, { recursive: true, force: true })
}
