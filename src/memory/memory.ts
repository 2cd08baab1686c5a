import type { Spent } from '../machines/effects.ts'
import type { Message } from '../messages/types.ts'
import type { Model } from '../models/model.ts'
import type { MemoryFacts } from './memoryFacts.ts'

/**
 * Decides what of the transcript the model is shown. The transcript itself stays complete.
 *
 * `view` and `needsCompaction` are pure: a replayed run must come to the same requests. `state` is what `compact`
 * returned last, `undefined` before that; it is journaled, so it must be plain JSON.
 *
 * Most memories are built from strategies (`tokenBudget`, `summary`, …; see `Strategy` for your own), which keep every
 * request sendable. A memory that is written against this interface has to see to that itself; `checkMemory` of
 * `loopchart/testing` tells whether it does.
 */
export interface Memory {
  /**
   * The messages to send, without the system message. Keep an assistant message and its results together, and the last
   * user message as it is. Where even the least cannot be made to fit, throw a `ContextExhaustedError`.
   */
  view(transcript: readonly Message[], state: unknown, facts: MemoryFacts): readonly Message[]
  /** Whether room has to be made before the next model call. Default: never. */
  needsCompaction?(transcript: readonly Message[], state: unknown, facts: MemoryFacts): boolean
  /**
   * Makes room, for instance by asking a model for a summary. Also called where a provider found the conversation too
   * long: `io.ceiling` then says what may be shown at most. A memory without it cannot make room.
   */
  compact?(transcript: readonly Message[], state: unknown, io: CompactIO): Promise<Compacted>
}

/** What a memory compacts with. */
export interface CompactIO extends MemoryFacts {
  /** Aborted when nobody wants the result any more. */
  readonly signal: AbortSignal
  /** Milliseconds after which a model that is asked is given up: the agent's `modelTimeoutMs`. */
  readonly timeoutMs: number
  /** The agent's own model, for memories that are given no other. */
  readonly agentModel: Model
}

/** What came of a compaction. */
export interface Compacted {
  /** The new state: plain JSON. */
  readonly state: unknown
  /** Tokens that were spent on it, by the model that was asked; they count to the run. */
  readonly spent?: readonly Spent[]
  /** What went wrong on the way and was got over, for people: shown in the event `compaction.finished`. */
  readonly problem?: string
}

/** Shows everything, and cannot make room. */
export const wholeTranscript: Memory = { view: (transcript) => transcript }
