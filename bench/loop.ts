import type { Contest } from './contest.ts'
import { measureRound, type Round } from './measure.ts'
import { type Options, optionsOf } from './options.ts'
import { documentOf, machineLine, tableOf } from './report.ts'
import type { Cell, Measured } from './results.ts'
import { http, loopAlone, type ScenarioName, streaming } from './scenarios.ts'
import { type BenchServer, startServer } from './serverProcess.ts'

/** Steps of a run of the warm-up. */
const WARM_UP_LENGTH = 40

const options = optionsOf(process.argv.slice(2))
if (globalThis.gc === undefined)
  console.error('Run with --expose-gc: garbage of one loop is charged to the other.')
if (!options.json) console.log(machineLine())

const server = await startServer()
const measured: Measured[] = []
try {
  for (const scenario of options.scenarios) {
    const result = await measureScenario(scenario, options, server)
    measured.push(result)
    if (!options.json) console.log(`\n${tableOf(result)}`)
  }
} finally {
  server.close()
}
if (options.json) console.log(JSON.stringify(documentOf(measured), null, 2))

/**
 * Rounds go over all lengths, so that what disturbs the machine for a while disturbs them alike. The chart is warmed
 * up without HTTP too: it takes some thousand steps until it is compiled, whatever is measured.
 */
async function measureScenario(
  scenario: ScenarioName,
  { rounds, steps, sampleSteps, warmUpSteps }: Options,
  server: BenchServer,
): Promise<Measured> {
  const cells = steps.map((length) => ({
    contest: contestOf(scenario, length, server),
    steps: length,
    runs: Math.ceil(sampleSteps[scenario] / length),
    rounds: [] as Round[],
  }))
  const warmUps: readonly ScenarioName[] = scenario === 'loop' ? ['loop'] : ['loop', scenario]
  for (const warmUp of warmUps) {
    const contest = contestOf(warmUp, WARM_UP_LENGTH, server)
    const runs = Math.ceil(warmUpSteps[warmUp] / WARM_UP_LENGTH)
    await measureRound({ contest, steps: WARM_UP_LENGTH, runs }, 'byHand')
  }
  for (let round = 0; round < rounds; round++) {
    for (const cell of cells) {
      cell.rounds.push(await measureRound(cell, round % 2 === 0 ? 'loopchart' : 'byHand'))
    }
  }
  return { scenario, cells: cells.map(({ contest: _, ...cell }): Cell => cell) }
}

function contestOf(scenario: ScenarioName, steps: number, server: BenchServer): Contest {
  switch (scenario) {
    case 'loop':
      return loopAlone(steps)
    case 'http':
      return http(steps, server)
    case 'streaming':
      return streaming(steps, server)
  }
}
