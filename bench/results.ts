import type { Side } from './contest.ts'
import type { Cost, Round } from './measure.ts'
import type { ScenarioName } from './scenarios.ts'
import { type Spread, spreadOf } from './statistics.ts'

/** What was measured of one scenario. */
export interface Measured {
  readonly scenario: ScenarioName
  readonly cells: readonly Cell[]
}

/** All rounds of runs of one length. Rounds of the same index, in all cells, were measured close together. */
export interface Cell {
  readonly steps: number
  readonly runs: number
  readonly rounds: readonly Round[]
}

/** Microseconds per step. */
export function costOf({ rounds }: Cell, side: Side, kind: keyof Cost): Spread {
  return spreadOf(rounds.map((round) => round[side][kind]))
}

/** Loopchart as a multiple of the hand-written loop, round by round. */
export function ratioOf({ rounds }: Cell, kind: keyof Cost): Spread {
  return spreadOf(rounds.map(({ loopchart, byHand }) => loopchart[kind] / byHand[kind]))
}

/** What a step of Loopchart costs in long runs as a multiple of what it costs in short ones, round by round. */
export function growthOf(short: Cell, long: Cell): Spread {
  return spreadOf(
    long.rounds.map(({ loopchart }, i) => loopchart.cpu / (short.rounds[i]?.loopchart.cpu ?? Number.NaN)),
  )
}
