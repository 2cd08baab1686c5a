import type { ErrorInfo } from '../errors.ts'
import type { RunInput } from '../machines/context.ts'
import type { Spent } from '../machines/effects.ts'
import type { AbortReason } from '../machines/outcome.ts'
import type { Decision } from '../machines/reducers.ts'
import type { UserMessage } from '../messages/types.ts'
import type { AgentFingerprint } from './fingerprint.ts'

/** Something that happened to a run: an effect settled, or word came from outside. */
export type RunEvent =
  | SettlingEvent
  | ({ readonly type: 'cancelled' } & Cancellation & CutShort)
  | { readonly type: 'decided'; readonly decision: Decision }
  /** A message of the user's came while the run was under way. */
  | { readonly type: 'sent'; readonly message: UserMessage }

/** What an event tells that gives up calls which are under way: a cancellation, or a deadline. */
export interface CutShort {
  /** What they had spent; absent where that is nothing. */
  readonly spent?: readonly Spent[]
}

/** Why a run was stopped from outside. */
export interface Cancellation {
  readonly message?: string
  /** Whether it was time that ran out. */
  readonly timedOut?: boolean
}

/** How an effect ended. */
export type SettlingEvent =
  | ({ readonly type: 'settled'; readonly place: string; readonly output: unknown } & CutShort)
  | { readonly type: 'failed'; readonly place: string; readonly error: ErrorInfo }

/**
 * One line of a run's journal. The state of a run is a fold over its journal: `started`, then every `event` in the
 * order in which they happened. `at` is in milliseconds since 1970, by the clock of whoever wrote it: it may be earlier
 * than in the entry before.
 */
export type JournalEntry =
  | {
      readonly type: 'started'
      readonly version: 1
      readonly at: number
      readonly input: RunInput
      /** The agent that began the run; absent where that is not known. */
      readonly agent?: AgentFingerprint
      /** The run of which this one is a fork, and the step in which it parts from it; the entries of before are a copy. */
      readonly forkOf?: { readonly runId: string; readonly at: number }
    }
  /**
   * An agent that would not have taken the recorded steps goes on from what they came to. Its state is a fold over what
   * follows.
   */
  | {
      readonly type: 'migrated'
      readonly at: number
      /** The conversation so far, its open calls answered, and what the run has spent. */
      readonly input: RunInput
      readonly agent: AgentFingerprint
    }
  /** Somebody has taken the run up again: whoever had it before cannot write to it any more. */
  | { readonly type: 'resumed'; readonly at: number; readonly by: string }
  /**
   * An effect is about to begin that a replay could not tell otherwise: a tool call, which is in doubt after a crash where no
   * later event settles it, a compaction, or the closing call.
   */
  | { readonly type: 'intent'; readonly at: number; readonly place: string }
  | { readonly type: 'event'; readonly at: number; readonly event: RunEvent }
  /** The run was handed back until a person decides. */
  | { readonly type: 'waiting'; readonly at: number }
  /** The run has ended; nothing follows. */
  | {
      readonly type: 'ended'
      readonly at: number
      readonly status: 'done' | 'aborted'
      /** Why there is no answer, where there is none. */
      readonly reason?: AbortReason
    }

/** Where a run stands. `running` says that its end is not recorded: its process may be at work, or may have died. */
export type RunStatus = 'running' | 'waiting' | 'done' | 'aborted'

/** What can be said of a run without reading its journal. */
export interface RunSummary {
  readonly runId: string
  readonly status: RunStatus
  /** Why there is no answer, where the run was aborted. */
  readonly reason?: AbortReason
  /** When its first entry was written. Milliseconds since 1970. */
  readonly startedAt: number
  /** When its last entry was written. Milliseconds since 1970. */
  readonly updatedAt: number
  /** Model calls that could ask for tools and have settled, repeated attempts counted once. */
  readonly steps: number
  /** Entries in its journal. */
  readonly length: number
}

/** Which runs to list. */
export interface RunQuery {
  /** Default: any. */
  readonly status?: RunStatus | undefined
  /** How many at most: a whole number of at least 1. Default: 100. */
  readonly limit?: number | undefined
  /** Only runs that come after this one in the list: the last one of the page before. */
  readonly before?: Pick<RunSummary, 'startedAt' | 'runId'> | undefined
}

/** Where journals are kept. A method may answer at once or with a promise. */
export interface Journal {
  /**
   * Adds entries to the end of a run's journal, all or none, if it has exactly `length` entries (0: the run is new).
   * They are safe when this returns.
   *
   * @returns Whether they were added; `false` where somebody else has written meanwhile: who has lost a run cannot
   * write to it.
   */
  append(runId: string, entries: readonly JournalEntry[], length: number): boolean | Promise<boolean>
  /**
   * The journal of a run, `undefined` where there is none.
   *
   * @throws JournalError where an entry cannot be read; it names the run and the position.
   */
  load(runId: string): readonly JournalEntry[] | undefined | Promise<readonly JournalEntry[] | undefined>
  /**
   * The runs that there are: latest start first, and by id backwards where they started at once.
   *
   * @throws MisuseError `invalid_query` for a limit or a status that is none.
   */
  list(query?: RunQuery): readonly RunSummary[] | Promise<readonly RunSummary[]>
  /**
   * Removes runs whose end was recorded before a time, in milliseconds since 1970. Runs that are running or wait stay.
   *
   * @returns How many.
   */
  prune(query: { readonly endedBefore: number }): number | Promise<number>
  /**
   * Takes the lease on a run, or renews one's own, for so many milliseconds. It says who is believed to be at work on a
   * run, which may not have begun yet; that nobody else can write to it is the affair of `append`.
   *
   * @param takeOver Whether it is taken from whoever else holds it: somebody has taken the run up there. Default: false.
   * @returns Whether the lease is `owner`'s; `false` while another holds one that has not expired.
   */
  lease(runId: string, owner: string, ttlMs: number, takeOver?: boolean): boolean | Promise<boolean>
  /** Gives up one's own lease; does nothing where it is not one's own. */
  release(runId: string, owner: string): void | Promise<void>
}
