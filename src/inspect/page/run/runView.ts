import type { EdgeName } from '../../../machines/edgeNames.ts'
import type { LimitGauge } from '../../../machines/limits/gauges.ts'
import type { Verdict, Warning } from '../../../machines/limits/judgement.ts'
import type { Outcome, RunUsage } from '../../../machines/outcome.ts'
import type { Message, UserMessage } from '../../../messages/types.ts'
import { type Call, stepOf } from './call.ts'

/** What is known of a run at one moment: a fold over its events up to there. */
export interface RunView {
  readonly phase: 'unknown' | 'running' | 'waiting' | 'done' | 'aborted'
  /** Milliseconds since 1970; undefined before the first event. */
  readonly startedAt: number | undefined
  /** When the last event happened. */
  readonly at: number
  /** Milliseconds in which nobody was at work on the run: between a wait, or a crash, and its resumption. */
  readonly idleMs: number
  /** Such as `thinking.calling`. */
  readonly state: string | undefined
  /** The edges that were taken last, the newest one at the end. */
  readonly trail: readonly TakenEdge[]
  /** How often each edge was taken, by its `edgeKey`. */
  readonly edgeCounts: ReadonlyMap<string, number>
  readonly transcript: readonly Message[]
  /** Messages from outside that the model has not been shown yet. */
  readonly unread: readonly UserMessage[]
  /** In the order in which they began. */
  readonly calls: readonly Call[]
  readonly gauges: readonly LimitGauge[]
  readonly warnings: readonly Warning[]
  /** The limit that ends the run, where one does. */
  readonly verdict: Verdict | undefined
  readonly usage: RunUsage | undefined
  readonly cost: number | undefined
  /** What was mended in the history that the run began with. */
  readonly repairs: readonly string[]
  readonly outcome: Outcome<unknown> | undefined
}

export interface TakenEdge extends EdgeName {
  readonly index: number
  readonly verdict?: Verdict
}

export const emptyView: RunView = {
  phase: 'unknown',
  startedAt: undefined,
  at: 0,
  idleMs: 0,
  state: undefined,
  trail: [],
  edgeCounts: new Map(),
  transcript: [],
  unread: [],
  calls: [],
  gauges: [],
  warnings: [],
  verdict: undefined,
  usage: undefined,
  cost: undefined,
  repairs: [],
  outcome: undefined,
}

/** Milliseconds of the run at the last event, without the time in which nobody was at work on it. */
export function elapsedOf({ startedAt, at, idleMs }: RunView): number {
  return startedAt === undefined ? 0 : Math.max(0, at - startedAt - idleMs)
}

/** The step that the run is in or was in last, counted from 1; 0 before the first. */
export function stepNumberOf({ calls, outcome }: RunView): number {
  if (outcome !== undefined) return outcome.steps
  return calls.reduce((most, { place }) => Math.max(most, stepOf(place) ?? 0), 0)
}
