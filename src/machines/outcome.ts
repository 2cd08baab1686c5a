import type { ErrorInfo } from '../errors.ts'
import type { Usage } from '../messages/reply.ts'
import { toolError } from '../messages/toolTexts.ts'
import type { Message } from '../messages/types.ts'
import type { AgentContext, OpenCall } from './context.ts'
import type { ToolAnswer } from './effects.ts'
import type { Verdict } from './limits/judgement.ts'
import type { MemoryState } from './memoryState.ts'
import { partialOf } from './partialAnswer.ts'
import { toolMessages } from './toolMessages.ts'

/** Every reason for which a run can end without an answer. */
export type AbortReason =
  /** Somebody stopped it: the caller's signal, `run.abort()`, a consumer that left. */
  | 'cancelled'
  /** Time ran out: that of the limit `time`, or the caller's signal says so, as `AbortSignal.timeout(…)` does. */
  | 'timeout'
  /** The agent was closed first. Where a journal is kept, `agent.resume` or `agent.recover` goes on with the run. */
  | 'interrupted'
  /** The model could not be called, for good or more often than it is tried again; `error` says why. */
  | 'model_error'
  /** The conversation is too long for the model, and the memory could not make room. */
  | 'context_exhausted'
  /** The provider's content filter or the model itself refused. */
  | 'content_filter'
  /** Replies were empty, again after a nudge. */
  | 'empty_response'
  /** Replies were cut off at the output limit, again after a nudge. */
  | 'truncated_response'
  /** Replies were not of the form that was asked for, again after being told so. */
  | 'malformed_response'
  /** A limit was reached, and the closing call gave no answer. */
  | 'no_closing_answer'
  /** A limit was reached whose reaction is to abort. */
  | 'limit'
  /** The journal could not be read or written: what follows would not be recorded. */
  | 'journal_error'
  /** Something failed that never should; please report it. */
  | 'internal_error'

/** What every ending tells. */
export interface EndingFacts {
  readonly usage: RunUsage
  /** What that cost, where the agent knows prices, in their currency. */
  readonly cost?: number
  /** Model calls that could ask for tools. */
  readonly steps: number
  /** What was executed; calls of one reply that ask for the same count once. */
  readonly toolCalls: { readonly total: number; readonly failed: number }
  /** Which model answered, from which step on, where models name themselves. */
  readonly answeredBy: readonly AnsweredBy[]
  /** What the memory has come to; give it to the next run of the conversation as `memory`. */
  readonly memory: MemoryState
  /** The conversation, without the system message; fit to be sent again with a new user message. */
  readonly transcript: readonly Message[]
}

/** Tokens of a run: its own model calls and those that its tools made. */
export interface RunUsage extends Usage {
  /** By the model that was asked, or the tool where a tool does not say which model it asked. */
  readonly byModel: Readonly<Record<string, Usage>>
}

/** A model, and the first step whose reply came from it. */
export interface AnsweredBy {
  readonly model: string
  readonly fromStep: number
}

export interface Done<Output = string> {
  readonly status: 'done'
  /** The answer, never empty: text, or what the agent's `output` schema makes of it. */
  readonly output: Output
  /** The limit that forced the answer, where one did. */
  readonly stoppedBy?: Verdict
}

export interface Aborted {
  readonly status: 'aborted'
  readonly reason: AbortReason
  /** What happened, for people. */
  readonly message: string
  /**
   * The last text of the model in this run, where there is any. Where a limit ended the run, also the last results, so
   * that work is not lost; never absent then.
   */
  readonly partial?: string
  /** The error behind it, where there is one. */
  readonly error?: ErrorInfo
  /** The limit that led here, where one did. */
  readonly stoppedBy?: Verdict
}

export interface Waiting {
  readonly status: 'waiting'
  /** The calls on which a person has to decide. */
  readonly approvals: readonly PendingApproval[]
}

export interface PendingApproval {
  readonly callId: string
  readonly name: string
  /** Arguments as the model wrote them: JSON text. */
  readonly arguments: string
  /**
   * Set where the call had begun when the process died: it may have had an effect. Approved, it runs again; otherwise it
   * does not, and the model is told the reason that is given.
   */
  readonly inDoubt?: true
  /**
   * Binds a decision to this call: its id, its tool and its arguments; where it is in doubt, also to this doubt. Not set by
   * a live machine.
   */
  readonly token?: string
}

/** How the machine ended, or what it waits for. */
export type Ending = EndingFacts & (Done | Aborted | Waiting)

/** How a run ended. `run()` settles with exactly one. */
export type Outcome<Output = string> = OutcomeFacts & (Done<Output> | Aborted | Waiting)

export interface OutcomeFacts extends EndingFacts {
  readonly runId: string
  /** Milliseconds from the start of the run (or of its resumption) to its end. */
  readonly durationMs: number
}

/** The ending that a context spells; `Waiting` where it spells none yet. */
export function endingOf(context: AgentContext): Ending {
  const { aborted, error, verdict } = context
  const facts: EndingFacts = {
    usage: { ...context.usage, byModel: context.usageByModel },
    ...(Object.keys(context.settings.prices).length === 0 ? {} : { cost: context.cost }),
    memory: context.memory,
    steps: context.step,
    answeredBy: context.answeredBy,
    toolCalls: { total: context.toolCalls, failed: context.toolErrors },
    transcript: context.transcript.toArray(),
  }
  const stoppedBy = verdict === undefined ? {} : { stoppedBy: verdict }
  if (aborted !== undefined) {
    const partial = partialOf(context)
    return {
      ...facts,
      status: 'aborted',
      ...aborted,
      ...(partial === undefined ? {} : { partial }),
      ...(error === undefined ? {} : { error }),
      ...stoppedBy,
    }
  }
  const approvals = context.calls.filter((open) => open.approval === 'pending').map(pendingApproval)
  if (approvals.length > 0) {
    const open = [...toolMessages(context, context.calls, waitingAnswer), ...context.sent]
    return { ...facts, transcript: context.transcript.append(open).toArray(), status: 'waiting', approvals }
  }
  return { ...facts, status: 'done', output: context.reply?.text.toWellFormed() ?? '', ...stoppedBy }
}

const waitingAnswer: ToolAnswer = toolError('waiting', {})

function pendingApproval({ call, inDoubt, token }: OpenCall): PendingApproval {
  return {
    callId: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
    ...(inDoubt === true ? { inDoubt } : {}),
    ...(token === undefined ? {} : { token }),
  }
}
