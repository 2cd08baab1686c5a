import { describeError } from '../errors.ts'
import type { ModelReply } from '../messages/reply.ts'
import type { AgentContext } from './context.ts'
import type { Compaction } from './effects.ts'
import { startable } from './openCalls.ts'

/** Questions that decide the run's way. All are pure and total: a guard that throws would end the machine. */

export function isRetryable({ attempt, settings }: AgentContext, thrown: unknown): boolean {
  return attempt <= settings.modelRetries && describeError(thrown).retryable
}

/** The provider says that the conversation is too long for the model, and no room has been made for that yet. */
export function isContextTooLong({ madeRoom }: AgentContext, thrown: unknown): boolean {
  return !madeRoom && describeError(thrown).code === 'context_too_long'
}

/** The provider or the model refused. Trying again or nudging would only repeat it. */
export function isRefused({ reply }: AgentContext): boolean {
  if (reply === undefined) return false
  return reply.finish === 'content_filter' || (reply.refusal !== undefined && reply.toolCalls.length === 0)
}

/** The presence of calls decides, not the finish reason: providers name it wrongly. */
export function hasCalls({ calls }: AgentContext): boolean {
  return calls.length > 0
}

/** Whether a person has to decide before anything of the step runs. */
export function needsApproval(context: AgentContext): boolean {
  return !context.settings.runApprovedFirst && !everyCallDecided(context)
}

/** Text that is whole: neither empty nor cut off, and of the form that was asked for. */
export function isAnswer({ reply }: AgentContext): boolean {
  return (
    reply !== undefined &&
    reply.text.trim() !== '' &&
    reply.finish !== 'length' &&
    reply.problem === undefined
  )
}

/** An answer ends the run, unless a message was sent meanwhile: then it is one of several, and the run goes on. */
export function isFinalAnswer(context: AgentContext): boolean {
  return isAnswer(context) && context.sent.length === 0
}

/** A closing answer that was cut off is still the best there is, unless a form was asked for. */
export function isClosingAnswer(reply: ModelReply): boolean {
  if (reply.refusal !== undefined) return false
  return reply.finish !== 'content_filter' && reply.text.trim() !== '' && reply.problem === undefined
}

export function everyCallDecided({ calls }: AgentContext): boolean {
  return !calls.some((open) => open.approval === 'pending')
}

/** Whether nothing of the step runs or can begin before a person has decided. */
export function onlyApprovalsLeft(context: AgentContext): boolean {
  const { calls } = context
  const isRunning = calls.some(({ started, answer }) => started === true && answer === undefined)
  return !everyCallDecided(context) && !isRunning && startable(calls).length === 0
}

export function everyCallSettled({ calls }: AgentContext): boolean {
  return calls.every((open) => open.answer !== undefined)
}

/** Whether nothing could be made to fit. */
export function isExhausted({ exhausted }: Compaction): boolean {
  return exhausted !== undefined
}

/** Whether the closing call is still to come. */
export function isAtWork({ closings }: AgentContext): boolean {
  return closings === 0
}

export function limitConcludes({ verdict }: AgentContext): boolean {
  return verdict?.reaction === 'conclude'
}

export function limitAborts({ verdict }: AgentContext): boolean {
  return verdict?.reaction === 'abort'
}
