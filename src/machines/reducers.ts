import { describeError, type ErrorInfo, messageOf } from '../errors.ts'
import { canonicalJson } from '../messages/canonicalJson.ts'
import type { ModelReply, Usage } from '../messages/reply.ts'
import { sendableCall, wellFormed } from '../messages/sendable.ts'
import { toolError } from '../messages/toolTexts.ts'
import type { AssistantMessage, UserMessage } from '../messages/types.ts'
import type { AgentContext, OpenCall } from './context.ts'
import type { Compaction, ModelTurn, ToolAnswer } from './effects.ts'
import { hasCalls, isAnswer, isFinalAnswer, isRefused, limitConcludes } from './guards.ts'
import { judge, judgeSpending } from './limits/judge.ts'
import type { Counted, Verdict, Warning } from './limits/judgement.ts'
import { type LimitLadder, lastOf } from './limits/ladder.ts'
import { observeStep, type Progress, withoutLastStep } from './limits/progress.ts'
import type { RepeatedCall } from './limits/seen.ts'
import { calibrated, compacted } from './memoryState.ts'
import { hasBegun, openCalls, signatureOf } from './openCalls.ts'
import type { AbortReason } from './outcome.ts'
import { type Spending, spend } from './spending.ts'
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

export function beginStep(context: AgentContext): Change {
  return { step: context.step + 1, attempt: 1, ...takeSent(context) }
}

export function beginClosingCall(context: AgentContext): Change {
  return { attempt: 1, closings: context.closings + 1, ...takeSent(context) }
}

/** A message that was sent to the run: it enters the transcript when the next model call begins. */
export function recordSent({ sent }: AgentContext, message: UserMessage): Change {
  return { sent: [...sent, wellFormed(message)] }
}

function takeSent({ transcript, sent }: AgentContext): Pick<AgentContext, 'transcript' | 'sent'> {
  return { transcript: transcript.append(sent), sent: [] }
}

export function beginNextAttempt({ attempt }: AgentContext): Change {
  return { attempt: attempt + 1 }
}

export function recordError(_context: AgentContext, thrown: unknown): Change {
  return { error: describeError(thrown) }
}

/** The call that failed counts as a step, so that a limit holds however often room has to be made. */
export function recordContextTooLong(
  context: AgentContext,
  thrown: unknown,
  elapsedMs: number = context.elapsedMs,
): Change {
  const progress = withoutLastStep(context.progress)
  const { verdict, warnings } = judge({ ...context, progress, elapsedMs })
  return {
    error: describeError(thrown),
    madeRoom: true,
    elapsedMs,
    verdict,
    warnings: verdict === undefined ? withUnheard(context.warnings, warnings) : [],
  }
}

/** Warnings that went with a request which failed have to go with the next one as well. */
function withUnheard(unheard: readonly Warning[], warnings: readonly Warning[]): readonly Warning[] {
  if (warnings.length === 0) return unheard
  return [...unheard.filter(({ limit }) => !warnings.some((warning) => warning.limit === limit)), ...warnings]
}

/** The same for the closing call, which is no step. */
export function recordClosingTooLong(_context: AgentContext, thrown: unknown): Change {
  return { error: describeError(thrown), madeRoom: true }
}

/** Keeps what the memory made of the conversation, and counts what that cost. */
export function recordCompaction(context: AgentContext, compaction: Compaction): Change {
  const { prices } = context.settings
  const { spent = [] } = compaction
  const spending = spent.reduce<Spending>(
    (before, { model, usage }) => spend(before, usage, [model], prices),
    context,
  )
  const { usage, usageByModel, cost } = spending
  const change = { memory: compacted(context.memory, compaction), usage, usageByModel, cost }
  return { ...change, verdict: context.verdict ?? judgeSpending({ ...context, ...change }) }
}

export function abortExhausted(context: AgentContext, { exhausted }: Compaction): Change {
  return abort(context, {
    reason: 'context_exhausted',
    message: `The conversation is too long for the model: ${exhausted ?? 'no room could be made'}`,
  })
}

/**
 * Takes a reply in: its calls become open calls, and what is fit for the transcript enters it.
 *
 * @param elapsedMs Milliseconds since the start of the run. Default: as many as were told last.
 */
export function recordReply(
  context: AgentContext,
  turn: ModelTurn,
  elapsedMs: number = context.elapsedMs,
): Change {
  const reply = missesCalls(context, turn.reply)
    ? { ...turn.reply, problem: context.policy.texts.missingCalls }
    : turn.reply
  const received = {
    reply,
    calls: openCalls(context, turn),
    error: undefined,
    elapsedMs,
    ...receive(context, turn),
  }
  const next = { ...context, ...received }
  if (isRefused(next)) return { ...received, calls: [] }
  const isWhole = hasCalls(next) || isAnswer(next)
  const transcript = isWhole
    ? context.transcript.append([assistantMessage(reply, next.calls)])
    : context.transcript
  const { inputTokens, outputTokens } = reply.usage
  const change = {
    ...received,
    malformed: isWhole && reply.finish !== 'length' ? 0 : context.malformed + 1,
    transcript,
    measured: { tokens: inputTokens + (isWhole ? outputTokens : 0), messages: transcript.length },
  }
  if (hasCalls(next) || isFinalAnswer(next)) return change
  const progress = withoutLastStep(context.progress)
  return { ...change, progress, ...judge({ ...next, ...change, progress }) }
}

/** Takes the closing answer in. Calls that the model made all the same are ignored. */
export function recordClosingReply(context: AgentContext, turn: ModelTurn): Change {
  const { reply } = turn
  const transcript =
    reply.text.trim() === '' ? context.transcript : context.transcript.append([assistantMessage(reply, [])])
  // What was sent while the answer was written stays unanswered, and is not lost.
  return {
    reply,
    error: undefined,
    ...receive(context, turn),
    ...takeSent({ ...context, transcript }),
  }
}

/** What every reply counts to: what was spent, and which model answered. */
function receive(
  context: AgentContext,
  { reply, counted, model: asked }: ModelTurn,
): Pick<AgentContext, 'model' | 'answeredBy' | 'usage' | 'usageByModel' | 'cost' | 'memory'> {
  const model = [reply.model, asked].filter((name) => name !== undefined)
  return {
    model,
    answeredBy: answeredBy(context, reply),
    memory: calibrated(context.memory, counted, reply),
    ...spend(context, reply.usage, model, context.settings.prices),
  }
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
  return settings.missingCalls === 'nudge' && malformed === 0 && lastOf(settings.limits.malformed) > 1
}

/** Answers a call, and those of the same step that ask for the same. What it spent counts as the run's own. */
export function settleCall(
  context: AgentContext,
  { position, answer }: { readonly position: number; readonly answer: ToolAnswer },
): Change {
  const { usage, usageByModel, ...told } = answer
  const { calls } = context
  const shown = withEdit(calls[position], told)
  return {
    calls: calls.map((open, i) => {
      const isAnswered = (i === position || open.sameAs === position) && open.answer === undefined
      return isAnswered ? { ...open, answer: shown } : open
    }),
    ...(usage === undefined
      ? {}
      : spendOfCall(context, usageByModel ?? { [toolOf(calls, position)]: usage })),
  }
}

/** Tokens that a tool spent on models of its own; by its name where it does not say on which. */
function spendOfCall(
  { usage, usageByModel, cost, settings }: AgentContext,
  spent: Readonly<Record<string, Usage>>,
): Change {
  return Object.entries(spent).reduce(
    (before, [model, ofModel]) => spend(before, ofModel, [model], settings.prices),
    { usage, usageByModel, cost },
  )
}

function toolOf(calls: readonly OpenCall[], position: number): string {
  return calls[position]?.call.function.name ?? 'unknown'
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
  const call = { ...open.call, function: edited }
  const { signature: askedAs } = open
  return { ...open, approval: 'approved', edited: true, call, askedAs, signature: signatureOf(call) }
}

function denied({ reason }: Decision): ToolAnswer {
  return toolError('denied', { reason })
}

/** Moves the results of the step into the transcript, in call order, and judges the run. */
export function recordResults(context: AgentContext, elapsedMs: number = context.elapsedMs): Change {
  // A run begins by observing what it was given: the first request may cost too much already.
  if (context.step === 0) return { verdict: judgeSpending(context) }
  const { calls } = context
  const progress = observeStep(context, calls)
  const shown = withNotes(context, progress)
  const recorded = {
    elapsedMs,
    transcript: context.transcript.append(toolMessages(context, shown, cancelledAnswer)),
    calls: [],
    progress,
    ...countCalls(context),
  }
  return { ...recorded, ...judge({ ...context, ...recorded }, calls) }
}

/** A call that was made before, or brought nothing new, says so with its result, where the model looks. */
function withNotes(
  { calls, settings: { limits }, policy: { texts } }: AgentContext,
  { repeated, askedAgain }: Progress,
): readonly OpenCall[] {
  const notes = [
    ...noted(repeated, limits.repeats, texts.warnings.repeats),
    ...noted(askedAgain, limits.sameCalls, texts.warnings.sameCalls),
  ]
  if (notes.length === 0) return calls
  return calls.map((open, i) => {
    const own = notes.filter(({ position }) => position === i).map(({ note }) => note)
    // One that was not run has been told so already.
    const isTold = open.answer === undefined || open.answer.error === 'repeated' || own.length === 0
    return isTold ? open : { ...open, note: own.join('\n\n') }
  })
}

function noted(
  again: readonly RepeatedCall[],
  { warn: max }: LimitLadder,
  say: (counted: Counted) => string,
): readonly { readonly position: number; readonly note: string }[] {
  if (max === undefined) return []
  return again
    .filter(({ count }) => count >= max)
    .map(({ position, tool, count }) => ({ position, note: say({ tool, count, max }) }))
}

/** Ends the run without an answer. Calls that are still open are answered, so that the transcript can go on. */
export function abort(
  context: AgentContext,
  aborted: { readonly reason: AbortReason; readonly message: string },
): Change {
  return { aborted, ...cutShort(context) }
}

/** Ends the step that is under way. Its open calls are answered, and what was sent is kept. */
function cutShort(context: AgentContext): Change {
  const { calls, sent } = context
  return {
    transcript: context.transcript.append([...toolMessages(context, calls, cancelledAnswer), ...sent]),
    calls: [],
    sent: [],
    ...countCalls(context),
  }
}

/** The time for work is over: what is under way is given up, and what is left of `time` is for the closing answer. */
export function concludeAfterTime(context: AgentContext): Change {
  // A limit that had concluded before, while the memory made room, stays the one that did.
  const verdict = limitConcludes(context) ? context.verdict : timeVerdict(context, 'conclude')
  return { ...cutShort(context), verdict, warnings: [] }
}

export function abortAfterTime(context: AgentContext): Change {
  const verdict = timeVerdict(context, 'abort')
  return { ...abort(context, { reason: 'timeout', message: verdict.evidence }), verdict }
}

function timeVerdict({ settings: { limits } }: AgentContext, reaction: 'conclude' | 'abort'): Verdict {
  const max = limits.time[reaction] ?? 0
  return { limit: 'time', max, reaction, evidence: `the run was under way for ${Math.round(max)} ms` }
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
  if (verdict?.limit === 'malformed') return abort(context, { reason: malformedReason(reply), message })
  return abort(context, { reason: verdict?.limit === 'time' ? 'timeout' : 'limit', message })
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
  const counted = calls.filter(hasBegun)
  const failures = counted.filter(({ answer }) => answer === undefined || answer.error !== undefined)
  return { toolCalls: toolCalls + counted.length, toolErrors: toolErrors + failures.length }
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
