import { type Cell, costOf, growthOf, type Measured, ratioOf } from './results.ts'
import type { ScenarioName } from './scenarios.ts'

/** A figure that should not be above its goal. */
export interface Judged {
  readonly of: string
  readonly value: number
  readonly goal: number
  /** What will do until the goal is reached. */
  readonly enoughForNow: number
  readonly unit: string
}

const LOOP_ALONE = { goal: 30, enoughForNow: 60, unit: 'µs' }

const RATIO: Readonly<Record<Exclude<ScenarioName, 'loop'>, Pick<Judged, 'goal' | 'enoughForNow'>>> = {
  http: { goal: 0.65, enoughForNow: 1.2 },
  streaming: { goal: 1, enoughForNow: 1 },
}

/** Between runs of these lengths a step may become this much dearer. */
const GROWTH = [
  { from: 10, to: 200, goal: 1.15 },
  { from: 10, to: 1000, goal: 1.3 },
]

export function judgeCell(scenario: ScenarioName, cell: Cell): Judged {
  return scenario === 'loop'
    ? { of: 'CPU per step', value: costOf(cell, 'loopchart', 'cpu').median, ...LOOP_ALONE }
    : { of: 'CPU ratio', value: ratioOf(cell, 'cpu').median, ...RATIO[scenario], unit: '' }
}

export function judgeGrowth({ scenario, cells }: Measured): readonly Judged[] {
  if (scenario !== 'loop') return []
  return GROWTH.flatMap(({ from, to, goal }) => {
    const short = cells.find(({ steps }) => steps === from)
    const long = cells.find(({ steps }) => steps === to)
    if (short === undefined || long === undefined) return []
    const { median: value } = growthOf(short, long)
    return [
      {
        of: `growth of our CPU per step from ${from} to ${to} steps`,
        value,
        goal,
        enoughForNow: goal,
        unit: '',
      },
    ]
  })
}
