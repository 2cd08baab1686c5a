import type { Message } from '../messages/types.ts'

/**
 * Decides what of the transcript the model is shown. The transcript itself stays complete.
 *
 * `view` and `needsCompaction` are pure: a replayed run must come to the same requests. `state` is what `compact`
 * returned last, `undefined` before that; it is journaled, so it must be plain JSON.
 */
export interface Memory {
  /** The messages to send, without the system message. Keep an assistant message and its results together. */
  view(transcript: readonly Message[], state: unknown): readonly Message[]
  /** Whether room has to be made before the next model call. Default: never. */
  needsCompaction?(transcript: readonly Message[], state: unknown): boolean
  /** Makes room, for instance by asking a model for a summary. Returns the new state. */
  compact?(
    transcript: readonly Message[],
    state: unknown,
    io: { readonly signal: AbortSignal },
  ): Promise<unknown>
}

/** Shows everything. The default. */
export const wholeTranscript: Memory = { view: (transcript) => transcript }
