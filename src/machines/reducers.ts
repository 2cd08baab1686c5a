import { describeError, type ErrorInfo, messageOf } from '../errors.ts'
import { canonicalJson } from '../messages/canonicalJson.ts'
import { addUsage, type ModelReply } from '../messages/reply.ts'
import { sendableCall, wellFormed } from '../messages/sendable.ts'
import { toolError } from '../messages/toolTexts.ts'
import type { AssistantMessage } from '../messages/types.ts'
import type { AgentContext, OpenCall } from './context.ts'
import type { Compaction, ModelTurn, ToolAnswer } from './effects.ts'
import { hasCalls, isAnswer, isRefused } from './guards.ts'
import { judge } from './limits.ts'
import { calibrated, compacted } from './memoryState.ts'
import { MISSING_CALLS_NOTE } from './notes.ts'
import { openCalls } from './openCalls.ts'
import type { AbortReason } from './outcome.ts'
import { toolMessages } from './toolMessages.ts'

/** What happened, folded into the context. Each reducer is pure and returns only what changes. */
type Change = Partial<AgentContext>

/** A person's word on a call that waits for approval. */
export interface Decision {
  readonly callId: string
  readonly approved: boolean
  /** Told to the model when the call is rejected. */
  readonly reason?: string
  /**
   * The token of the pending approval, where the decision is to hold for exactly the call that was shown. Checked by
   * `agent.resume`; a live machine does not look at it.
   */
  readonly token?: string | undefined
  /**
   * Set for a decision on a call in doubt, which had begun when the process died. Without it a decision says nothing of
   * that: an approval that is delivered twice runs nothing twice.
   */
  readonly inDoubt?: true | undefined
  /** What the call runs with instead of what the model wrote, where it is approved. Validated by `agent.resume`. */
  readonly arguments?: unknown
}

export function beginStep({ step }: AgentContext): Change {
  return { step: step + 1, attempt: 1 }
}

export function beginClosingCall({ closings }: AgentContext): Change {
  return { attempt: 1, closings: closings + 1 }
}

export function beginNextAttempt({ attempt }: AgentContext): Change {
  return { attempt: attempt + 1 }
}

export function recordError(_context: AgentContext, thrown: unknown): Change {
  return { error: describeError(thrown) }
}

/** The call that failed counts as a step, so that a limit holds however often room has to be made. */
export function recordContextTooLong(context: AgentContext, thrown: unknown): Change {
  return { error: describeError(thrown), madeRoom: true, verdict: judge(context) }
}

/** The same for the closing call, which is no step. */
export function recordClosingTooLong(_context: AgentContext, thrown: unknown): Change {
  return { error: describeError(thrown), madeRoom: true }
}

/** Keeps what the memory made of the conversation, and counts what that cost. */
export function recordCompaction({ memory, usage }: AgentContext, compaction: Compaction): Change {
  return {
    memory: compacted(memory, compaction),
    ...(compaction.usage === undefined ? {} : { usage: addUsage(usage, compaction.usage) }),
  }
}

export function abortExhausted(context: AgentContext, { exhausted }: Compaction): Change {
  return abort(context, {
    reason: 'context_exhausted',
    message: `The conversation is too long for the model: ${exhausted ?? 'no room could be made'}`,
  })
}

/** Takes a reply in: its calls become open calls, and what is fit for the transcript enters it. */
export function recordReply(context: AgentContext, turn: ModelTurn): Change {
  const reply = missesCalls(context, turn.reply) ? { ...turn.reply, problem: MISSING_CALLS_NOTE } : turn.reply
  const received = {
    reply,
    calls: openCalls(context, turn),
    usage: addUsage(context.usage, reply.usage),
    memory: calibrated(context.memory, turn.counted, reply),
    answeredBy: answeredBy(context, reply),
    error: undefined,
  }
  const next = { ...context, ...received }
  if (isRefused(next)) return { ...received, calls: [] }
  const isWhole = hasCalls(next) || isAnswer(next)
  const malformed = isWhole && reply.finish !== 'length' ? 0 : context.malformed + 1
  if (!isWhole) return { ...received, malformed, verdict: judge({ ...next, malformed }) }
  return {
    ...received,
    malformed,
    transcript: context.transcript.append([assistantMessage(reply, next.calls)]),
  }
}

/** Takes the closing answer in. Calls that the model made all the same are ignored. */
export function recordClosingReply(context: AgentContext, { reply, counted }: ModelTurn): Change {
  const usage = addUsage(context.usage, reply.usage)
  const transcript =
    reply.text.trim() === '' ? context.transcript : context.transcript.append([assistantMessage(reply, [])])
  const memory = calibrated(context.memory, counted, reply)
  return { reply, usage, memory, answeredBy: answeredBy(context, reply), error: undefined, transcript }
}

function answeredBy(
  { answeredBy: before, step }: AgentContext,
  { model }: ModelReply,
): AgentContext['answeredBy'] {
  if (model === undefined || model === before.at(-1)?.model) return before
  return [...before, { model, fromStep: step }]
}

/** Only the first such reply is questioned, and only where a limit leaves room for another. */
function missesCalls(
  { settings, malformed }: AgentContext,
  { finish, toolCalls, text }: ModelReply,
): boolean {
  if (finish !== 'tool_calls' || toolCalls.length > 0 || text.trim() === '') return false
  return settings.missingCalls === 'nudge' && malformed === 0 && settings.limits.malformed > 1
}

/** Answers a call, and those of the same step that ask for the same. What it spent counts as the run's own. */
export function settleCall(
  { calls, usage }: AgentContext,
  { position, answer }: { readonly position: number; readonly answer: ToolAnswer },
): Change {
  const { usage: spent, ...told } = answer
  const shown = withEdit(calls[position], told)
  return {
    calls: calls.map((open, i) => {
      const isAnswered = (i === position || open.sameAs === position) && open.answer === undefined
      return isAnswered ? { ...open, answer: shown } : open
    }),
    ...(spent === undefined ? {} : { usage: addUsage(usage, spent) }),
  }
}

/** The model is told when a person changed what it asked for: the transcript shows its own arguments. */
function withEdit(open: OpenCall | undefined, answer: ToolAnswer): ToolAnswer {
  if (open?.edited !== true) return answer
  const note = `(A person changed the arguments of this call to ${open.call.function.arguments} before it ran.)`
  return { ...answer, content: `${note}\n${answer.content}` }
}

/**
 * Notes a person's decision. Deciding a call again, or one that needs no decision, changes nothing. A decision on a
 * call that asks for the same as another is one on both.
 */
export function recordDecision({ calls }: AgentContext, decision: Decision): Change {
  const named = calls.findIndex(({ call }) => call.id === decision.callId)
  const position = calls[named]?.sameAs ?? named
  if (calls[position]?.approval !== 'pending') return {}
  return {
    calls: calls.map((open, i) => {
      if (i === position) return decided(open, decision)
      return open.sameAs === position && decision.approved !== true
        ? { ...open, answer: denied(decision) }
        : open
    }),
  }
}

function decided(open: OpenCall, decision: Decision): OpenCall {
  if (decision.approved !== true) return { ...open, approval: 'not_needed', answer: denied(decision) }
  if (decision.arguments === undefined) return { ...open, approval: 'approved' }
  const edited = { ...open.call.function, arguments: canonicalJson(decision.arguments) }
  return { ...open, approval: 'approved', edited: true, call: { ...open.call, function: edited } }
}

function denied({ reason }: Decision): ToolAnswer {
  return toolError('denied', { reason })
}

/** Moves the results of the step into the transcript, in call order, and judges the run. */
export function recordResults(context: AgentContext): Change {
  // A run begins by observing what it was given.
  if (context.step === 0) return {}
  // What ran once failed once, however many calls asked for it.
  const answers = executed(context.calls).flatMap(({ answer }) => (answer === undefined ? [] : [answer]))
  const recorded = {
    transcript: context.transcript.append(toolMessages(context.calls, cancelledAnswer)),
    calls: [],
    errorStreak: answers.reduce(nextErrorStreak, context.errorStreak),
    ...countCalls(context),
  }
  return { ...recorded, verdict: judge({ ...context, ...recorded }) }
}

/** Ends the run without an answer. Calls that are still open are answered, so that the transcript can go on. */
export function abort(
  context: AgentContext,
  aborted: { readonly reason: AbortReason; readonly message: string },
): Change {
  return {
    aborted,
    transcript: context.transcript.append(toolMessages(context.calls, cancelledAnswer)),
    calls: [],
    ...countCalls(context),
  }
}

function reasonOf({ code }: ErrorInfo): AbortReason {
  if (code === 'context_too_long' || code === 'context_exhausted') return 'context_exhausted'
  return code === 'content_filter' ? 'content_filter' : 'model_error'
}

/** The user's own word or time that ran out: the outcome tells them apart. */
export function cancel(
  context: AgentContext,
  { message, timedOut = false }: { readonly message?: string; readonly timedOut?: boolean },
): Change {
  return timedOut
    ? abort(context, { reason: 'timeout', message: message ?? 'The time for the run is over.' })
    : abort(context, { reason: 'cancelled', message: message ?? 'The run was cancelled.' })
}

export function abortAfterModelError(context: AgentContext, thrown: unknown): Change {
  const error = describeError(thrown)
  const tries = context.attempt === 1 ? '' : ` after ${context.attempt} attempts`
  const change = abort(context, {
    reason: reasonOf(error),
    message: `The model call failed${tries}: ${error.message}`,
  })
  return { ...change, error }
}

export function abortAfterRefusal(context: AgentContext): Change {
  const said = context.reply?.refusal ?? context.reply?.text
  return abort(context, {
    reason: 'content_filter',
    message: said ? `The model refused: ${said}` : "The provider's content filter stopped the reply.",
  })
}

export function abortAfterLimit(context: AgentContext): Change {
  const { verdict, reply } = context
  const message = verdict?.evidence ?? 'A limit was reached.'
  if (verdict?.limit !== 'malformed') return abort(context, { reason: 'limit', message })
  return abort(context, { reason: malformedReason(reply), message })
}

function malformedReason(reply: ModelReply | undefined): AbortReason {
  if (reply?.finish === 'length') return 'truncated_response'
  return reply?.problem === undefined ? 'empty_response' : 'malformed_response'
}

export function abortWithoutClosingAnswer(
  context: AgentContext,
  failure: { readonly error: unknown } | undefined,
): Change {
  const limit = context.verdict === undefined ? '' : ` after the limit "${context.verdict.limit}" was reached`
  const error = failure === undefined ? undefined : describeError(failure.error)
  return {
    ...abort(context, {
      reason: 'no_closing_answer',
      message: `No closing answer${limit}: ${error?.message ?? 'the model gave none'}`,
    }),
    ...(error === undefined ? {} : { error }),
  }
}

/** A call that was cut short counts as failed. */
function countCalls({
  calls,
  toolCalls,
  toolErrors,
}: AgentContext): Pick<AgentContext, 'toolCalls' | 'toolErrors'> {
  const counted = executed(calls)
  const failures = counted.filter(({ answer }) => answer === undefined || answer.error !== undefined)
  return { toolCalls: toolCalls + counted.length, toolErrors: toolErrors + failures.length }
}

function executed(calls: readonly OpenCall[]): readonly OpenCall[] {
  return calls.filter(({ sameAs }) => sameAs === undefined)
}

/** `runTool` answers whatever a tool does; this is for actors that users provide themselves. */
export function failedAnswer(thrown: unknown): ToolAnswer {
  return toolError('failed', { problem: messageOf(thrown) })
}

export const cancelledAnswer: ToolAnswer = toolError('cancelled', {})

function assistantMessage({ message }: ModelReply, calls: readonly OpenCall[]): AssistantMessage {
  const { tool_calls: _asSent, ...rest } = message
  if (calls.length === 0) return wellFormed(rest as AssistantMessage)
  return wellFormed({
    ...rest,
    role: 'assistant',
    content: message.content,
    tool_calls: calls.map(({ call }) => sendableCall(call)),
  })
}

/** A person's refusal is no failure of a tool: it leaves the streak as it is. */
function nextErrorStreak(streak: number, { error }: ToolAnswer): number {
  if (error === undefined) return 0
  return error === 'denied' ? streak : streak + 1
}
