import type { ModelReply } from '../messages/reply.ts'
import type { Compaction, CountedTokens } from './effects.ts'

/** Who reports less for each token that was counted reports something else, such as what was not cached. */
const LEAST_CALIBRATION = 1 / 2

/** No more is made of a report than this. */
const MOST_CALIBRATION = 3

/**
 * What the memory of a conversation has come to: carried from step to step, and from one run of the conversation to the
 * next. Plain JSON.
 */
export interface MemoryState {
  /** What the memory's last compaction left; absent before that. */
  readonly state?: unknown
  /** How many tokens the provider reported for each that was counted. 1 until it reports. */
  readonly calibration: number
  /** The most tokens, as they are counted, of the conversation, where the provider has found one too long. */
  readonly ceiling?: number
  /** Tokens that were counted beside the conversation in the last request. */
  readonly beside?: number
}

export const freshMemory: MemoryState = { calibration: 1 }

/** Corrects the count by what the provider reports for the request. */
export function calibrated(
  memory: MemoryState,
  counted: CountedTokens | undefined,
  { usage }: ModelReply,
): MemoryState {
  if (counted === undefined) return memory
  const { total, beside } = counted
  if (usage.estimated === true || !(usage.inputTokens > 0) || total === 0) return { ...memory, beside }
  const ratio = usage.inputTokens / total
  if (ratio < LEAST_CALIBRATION) return { ...memory, beside }
  return { ...memory, beside, calibration: Math.min(MOST_CALIBRATION, ratio) }
}

export function compacted(memory: MemoryState, { state, ceiling }: Compaction): MemoryState {
  return {
    ...memory,
    ...(state === undefined ? {} : { state }),
    ...(ceiling === undefined ? {} : { ceiling }),
  }
}
