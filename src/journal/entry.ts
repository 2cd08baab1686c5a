import type { ErrorInfo } from '../errors.ts'
import type { RunInput } from '../machines/context.ts'
import type { Decision } from '../machines/reducers.ts'
import type { UserMessage } from '../messages/types.ts'

/** Something that happened to a run: an effect settled, or word came from outside. Plain JSON. */
export type RunEvent =
  | SettlingEvent
  | ({ readonly type: 'cancelled' } & Cancellation)
  | { readonly type: 'decided'; readonly decision: Decision }
  /** A message of the user's came while the run was under way. */
  | { readonly type: 'sent'; readonly message: UserMessage }

/** Why a run was stopped from outside. */
export interface Cancellation {
  readonly message?: string
  /** Whether it was time that ran out. */
  readonly timedOut?: boolean
}

/** How an effect ended. */
export type SettlingEvent =
  | { readonly type: 'settled'; readonly place: string; readonly output: unknown }
  | { readonly type: 'failed'; readonly place: string; readonly error: ErrorInfo }

/**
 * One line of a run's journal. The state of a run is a fold over its journal: `started`, then every `event` in the
 * order in which they happened. `at` is in milliseconds since 1970.
 */
export type JournalEntry =
  | {
      readonly type: 'started'
      readonly version: 1
      readonly at: number
      readonly input: RunInput
    }
  /** A tool call is about to run. One without a later event is in doubt after a crash. */
  | { readonly type: 'intent'; readonly at: number; readonly place: string }
  | { readonly type: 'event'; readonly at: number; readonly event: RunEvent }
  /** The run has ended; nothing follows. */
  | { readonly type: 'ended'; readonly at: number; readonly status: 'done' | 'aborted' }

/** Where journals are kept. A method may answer at once or with a promise. */
export interface Journal {
  /** Adds entries to the end of a run's journal. They are safe when this returns. */
  append(runId: string, entries: readonly JournalEntry[]): void | Promise<void>
  /** The journal of a run, `undefined` where there is none. */
  load(runId: string): readonly JournalEntry[] | undefined | Promise<readonly JournalEntry[] | undefined>
}
