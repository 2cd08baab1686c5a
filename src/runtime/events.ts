import type { ErrorInfo } from '../errors.ts'
import type { EdgeName } from '../machines/edgeNames.ts'
import type { Spent } from '../machines/effects.ts'
import type { LimitGauge } from '../machines/limits/gauges.ts'
import type { Verdict, Warning } from '../machines/limits/judgement.ts'
import type { Outcome, RunUsage } from '../machines/outcome.ts'
import type { ModelReply } from '../messages/reply.ts'
import type { Message, UserMessage } from '../messages/types.ts'
import type { ModelRequest } from '../models/model.ts'

/** Everything that can be seen of a run, in the order in which it happens. The last one is `run.finished`. */
export type AgentEvent = EventFacts & EventBody

export type EventBody =
  | {
      readonly type: 'run.started'
      /** Whether the run has begun before, perhaps in another process. */
      readonly resumed: boolean
      /** Where it stands: `thinking.calling` for a fresh run. */
      readonly state: string
      /** How many entries its journal had when it was taken up; absent for a fresh run. */
      readonly recorded?: number
    }
  | ({
      readonly type: 'transition'
      /** What a limit found that sent the run this way. */
      readonly verdict?: Verdict
    } & EdgeName)
  /**
   * Messages have entered the transcript, exactly as they stand there: at first those that the run begins with, or the
   * whole transcript where it goes on.
   */
  | { readonly type: 'messages.appended'; readonly messages: readonly Message[] }
  | ({ readonly type: 'model.started' } & ModelCall)
  | ({
      readonly type: 'model.requested'
      /** As it is sent: the system message, what the memory shows of the transcript, a note. */
      readonly request: ModelRequest
      /** Its tokens, as they are counted and calibrated; absent where the memory did not have to count them. */
      readonly tokens?: number
    } & ModelCall)
  | ({ readonly type: 'model.delta'; readonly text: string } & ModelCall)
  /** The text that was shown since the call began is void, and a consumer that has shown it takes it back. */
  | ({ readonly type: 'model.reset' } & ModelCall)
  | ({ readonly type: 'model.finished'; readonly reply: ModelReply; readonly durationMs: number } & ModelCall)
  | ({ readonly type: 'model.failed'; readonly error: ErrorInfo; readonly durationMs: number } & ModelCall)
  | ({ readonly type: 'retry.scheduled'; readonly delayMs: number; readonly failures: number } & Placed)
  | ({ readonly type: 'tool.started'; readonly arguments: string } & ToolExecution)
  | ({ readonly type: 'tool.progress'; readonly progress: unknown } & ToolExecution)
  | ({
      readonly type: 'tool.retried'
      /** Attempts that have failed so far. */
      readonly failures: number
      readonly delayMs: number
      /** What the last one failed with. */
      readonly message: string
    } & ToolExecution)
  | ({
      readonly type: 'tool.finished'
      readonly content: string
      /** Why the call did not succeed; absent where it did. */
      readonly error?: string
      readonly durationMs: number
    } & ToolExecution)
  | ({ readonly type: 'compaction.started' } & Placed)
  | ({
      readonly type: 'compaction.finished'
      /** Tokens of the request before and after, as they are counted and calibrated; absent where it was given up. */
      readonly tokensBefore?: number
      readonly tokensAfter?: number
      /** What was spent on it, where it asked models. */
      readonly spent?: readonly Spent[]
      /** What went wrong and was got over; absent where nothing did. */
      readonly problem?: string
      /** Set where nothing could be made to fit: the run ends as `context_exhausted`. */
      readonly exhausted?: string
      readonly durationMs: number
    } & Placed)
  /** The history that the run began with was broken, and was mended. */
  | { readonly type: 'history.repaired'; readonly notes: readonly string[] }
  /** A message of the user's came while the run was under way; the model reads it with the next step. */
  | { readonly type: 'message.received'; readonly message: UserMessage }
  | {
      readonly type: 'usage.updated'
      /** All that the run has spent so far. */
      readonly usage: RunUsage
      /** What that cost, where the agent knows prices. */
      readonly cost?: number
    }
  /** What the limits that are on have counted: when the run begins or goes on, with each step, and at its end. */
  | { readonly type: 'limits.updated'; readonly limits: readonly LimitGauge[] }
  | { readonly type: 'limit.warned'; readonly warning: Warning }
  | { readonly type: 'limit.reached'; readonly verdict: Verdict }
  | { readonly type: 'run.finished'; readonly outcome: Outcome<unknown> }

interface EventFacts {
  readonly runId: string
  /** Milliseconds since 1970. */
  readonly at: number
}

interface Placed {
  /** The effect's place in the run, such as `model.3.1` or `tool.3.0`. */
  readonly place: string
}

interface ModelCall extends Placed {
  /** Whether this is the closing call, in which tools are off. */
  readonly closing: boolean
}

interface ToolExecution extends Placed {
  readonly callId: string
  readonly name: string
}

/** What an effect reports while it goes on. */
export type EffectReport =
  /** Text that was reported is void. */
  | { readonly type: 'reset' }
  | { readonly type: 'delta'; readonly text: string }
  /** What a model is sent, and its tokens where they were counted. */
  | { readonly type: 'request'; readonly request: ModelRequest; readonly tokens?: number }
  | { readonly type: 'progress'; readonly progress: unknown }
  | { readonly type: 'delay'; readonly delayMs: number }
  | { readonly type: 'retry'; readonly failures: number; readonly delayMs: number; readonly message: string }
