import { countOf, fieldsOf } from './fields.ts'
import type { FinishReason, ModelReply, Usage } from './reply.ts'
import type { AssistantMessage, ToolCall } from './types.ts'

const finishReasons: ReadonlySet<unknown> = new Set<FinishReason>([
  'stop',
  'tool_calls',
  'length',
  'content_filter',
  'unknown',
])

/**
 * A reply as the loop can rely on it, from whatever a model service gave back; `undefined` where that is no object.
 * Services are written by users too, and one field that is missing must not break a run.
 */
export function soundReply(given: unknown): ModelReply | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const reply = given as Partial<Record<keyof ModelReply, unknown>>
  const text = typeof reply.text === 'string' ? reply.text : ''
  const { tool_calls: _asSent, role: _role, content: _content, ...extras } = fieldsOf(reply.message)
  const toolCalls = (Array.isArray(reply.toolCalls) ? reply.toolCalls : []).flatMap(soundCall)
  const message: AssistantMessage = {
    ...extras,
    role: 'assistant',
    content: messageText(reply, text),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  }
  return {
    text,
    toolCalls,
    finish: finishReasons.has(reply.finish) ? (reply.finish as FinishReason) : 'unknown',
    usage: soundUsage(reply.usage),
    message,
    ...(typeof reply.refusal === 'string' ? { refusal: reply.refusal } : {}),
    ...(typeof reply.problem === 'string' ? { problem: reply.problem } : {}),
    ...(typeof reply.model === 'string' ? { model: reply.model } : {}),
  }
}

/** What the transcript holds: the answer, or the words beside calls, which need not be an answer. */
function messageText(
  { message, toolCalls }: Partial<Record<keyof ModelReply, unknown>>,
  text: string,
): string | null {
  if (text !== '') return text
  const { content } = fieldsOf(message)
  const hasCalls = Array.isArray(toolCalls) && toolCalls.length > 0
  return hasCalls && typeof content === 'string' && content !== '' ? content : null
}

function soundCall(given: unknown): ToolCall[] {
  const { id, type: _type, function: fn, ...extras } = fieldsOf(given)
  const { name, arguments: args } = fieldsOf(fn)
  if (typeof name !== 'string') return []
  const text =
    typeof args === 'string' ? args : args === undefined || args === null ? '' : JSON.stringify(args)
  return [
    {
      ...extras,
      id: typeof id === 'string' ? id : '',
      type: 'function',
      function: { name, arguments: text },
    },
  ]
}

/** Usage of which every part is a count; what is none counts as 0. */
export function soundUsage(given: unknown): Usage {
  const usage = fieldsOf(given)
  return {
    inputTokens: countOf(usage.inputTokens),
    cachedTokens: countOf(usage.cachedTokens),
    outputTokens: countOf(usage.outputTokens),
    reasoningTokens: countOf(usage.reasoningTokens),
    ...(usage.estimated === true ? { estimated: true } : {}),
  }
}
