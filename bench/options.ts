import { parseArgs } from 'node:util'
import type { ScenarioName } from './scenarios.ts'

export interface Options {
  readonly scenarios: readonly ScenarioName[]
  readonly rounds: number
  /** Lengths of runs. */
  readonly steps: readonly number[]
  /** Steps of one sample, at least: what makes it long enough to be timed. */
  readonly sampleSteps: Readonly<Record<ScenarioName, number>>
  /** Steps that are run beforehand and not counted, so that code is compiled. */
  readonly warmUpSteps: Readonly<Record<ScenarioName, number>>
  readonly json: boolean
}

const all: readonly ScenarioName[] = ['loop', 'http', 'streaming']

type Plan = Omit<Options, 'scenarios' | 'json'>

const thorough: Plan = {
  rounds: 7,
  steps: [10, 50, 200, 1000],
  sampleSteps: { loop: 4000, http: 200, streaming: 200 },
  warmUpSteps: { loop: 10_000, http: 600, streaming: 600 },
}

const quick: Plan = {
  rounds: 2,
  steps: [10, 50],
  sampleSteps: { loop: 1000, http: 100, streaming: 100 },
  warmUpSteps: { loop: 5000, http: 200, streaming: 200 },
}

export function optionsOf(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      steps: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const { only, rounds, steps } = values
  const plan = values.quick ? quick : thorough
  return {
    ...plan,
    scenarios: only === undefined ? all : [scenario(only)],
    rounds: rounds === undefined ? plan.rounds : count('--rounds', rounds),
    steps: steps === undefined ? plan.steps : steps.split(',').map((text) => count('--steps', text)),
    json: values.json,
  }
}

function scenario(name: string): ScenarioName {
  const known = all.find((candidate) => candidate === name)
  if (known !== undefined) return known
  throw new Error(`--only takes ${all.join(', ')}, not ${JSON.stringify(name)}.`)
}

function count(option: string, text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1) return value
  throw new Error(`${option} takes whole numbers of at least 1, not ${JSON.stringify(text)}.`)
}
