import type { Judgement, Reaction } from './judgement.ts'
import type { LimitName } from './limits.ts'

/** At which count a limit reacts, and how. What is left out does not happen; `{}` is a limit that is off. */
export interface LimitLadder {
  /** From this count on the model is told. */
  readonly warn?: number
  /** From this count on the run concludes: one closing answer, without tools. */
  readonly conclude?: number
  /** From this count on the run is aborted. */
  readonly abort?: number
}

/** The ladder of `errorStreak`. */
export interface FailureLadder extends LimitLadder {
  /**
   * Whether failures of one tool with one error are counted as well, until that tool succeeds. With `false`, any success
   * sets the count back. Default: true.
   */
  readonly perTool?: boolean
}

/** The ladder of `sameCalls`, which can keep a call from running. */
export interface CallLadder extends LimitLadder {
  /** From this count on a call is not run: it is answered with the error `repeated`, and advice to try something else. */
  readonly refuse?: number
  /** Whether only calls one right after the other count. Default: false, anywhere in the run. */
  readonly inARow?: boolean
}

/** The strictest comes first: it decides where several thresholds have been reached. */
export const reactions: readonly Reaction[] = ['abort', 'conclude', 'warn']

/** The count from which on a run does not go on as it did: Infinity where it always does. */
export function lastOf({ conclude, abort }: LimitLadder): number {
  return Math.min(conclude ?? Infinity, abort ?? Infinity)
}

export function isOff({ warn, refuse, conclude, abort }: CallLadder): boolean {
  return [warn, refuse, conclude, abort].every((threshold) => threshold === undefined)
}

/** What a limit says that has counted so far, by the thresholds of its ladder. */
export function judged(
  limit: LimitName,
  ladder: LimitLadder,
  count: number,
  evidenceOf: (count: number) => string,
  tool?: string,
): Judgement | undefined {
  for (const reaction of reactions) {
    const max = ladder[reaction]
    if (max === undefined || count < max) continue
    const counted = { count, max, ...(tool === undefined ? {} : { tool }) }
    return { limit, max, reaction, evidence: evidenceOf(count), counted }
  }
  return undefined
}
