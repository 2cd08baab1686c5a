import { countOf, type Fields, fieldsOf } from './fields.ts'
import { type FinishReason, type ModelReply, noUsage, type Usage } from './reply.ts'

export { fieldsOf } from './fields.ts'

import type { AssistantMessage, ToolCall } from './types.ts'

/** A chat completion as it arrives: every field may be missing or of another type than the protocol says. */
export type RawCompletion = unknown

/** Turns a chat completion of any provider into one shape. Never throws for what a provider sent. */
export function normalizeReply(completion: RawCompletion): ModelReply {
  const body = fieldsOf(completion)
  const choice = fieldsOf(Array.isArray(body.choices) ? body.choices[0] : undefined)
  const raw = fieldsOf(choice.message)
  const { content, tool_calls: rawCalls, function_call: legacyCall, role: _role, ...extras } = raw
  const text = textOf(content)
  const toolCalls = callsOf(rawCalls, legacyCall)
  const refusal = typeof extras.refusal === 'string' && extras.refusal ? extras.refusal : undefined
  const message: AssistantMessage = {
    ...withoutNulls(extras),
    role: 'assistant',
    content: text === '' ? null : text,
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
  }
  return {
    text,
    toolCalls,
    finish: finishOf(choice.finish_reason),
    usage: usageOf(body.usage),
    message,
    ...(refusal === undefined ? {} : { refusal }),
    ...(typeof body.model === 'string' ? { model: body.model } : {}),
  }
}

/** Reads a usage block; what is missing or not a count becomes 0. */
export function usageOf(raw: unknown): Usage {
  const usage = fieldsOf(raw)
  if (raw === undefined || raw === null) return noUsage
  return {
    inputTokens: countOf(usage.prompt_tokens),
    cachedTokens: countOf(fieldsOf(usage.prompt_tokens_details).cached_tokens),
    outputTokens: countOf(usage.completion_tokens),
    reasoningTokens: countOf(fieldsOf(usage.completion_tokens_details).reasoning_tokens),
  }
}

export function finishOf(raw: unknown): FinishReason {
  switch (raw) {
    case 'stop':
    case 'length':
    case 'content_filter':
    case 'tool_calls':
      return raw
    case 'function_call':
      return 'tool_calls'
    case 'max_tokens':
      return 'length'
    default:
      return 'unknown'
  }
}

/** Text of `content`, which may be a string, `null`, or an array of parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part) => {
      if (typeof part === 'string') return part
      const { text } = fieldsOf(part)
      return typeof text === 'string' ? text : ''
    })
    .join('')
}

function callsOf(rawCalls: unknown, legacyCall: unknown): ToolCall[] {
  const entries = Array.isArray(rawCalls) ? rawCalls : []
  const calls = entries.flatMap((entry) => {
    const fields = fieldsOf(entry)
    const { id, type: _type, function: fn, index: _index, ...extras } = fields
    return callOf(id, fn, extras)
  })
  return calls.length === 0 ? callOf('', legacyCall) : calls
}

function callOf(id: unknown, fn: unknown, extras: Fields = {}): ToolCall[] {
  const { name, arguments: args } = fieldsOf(fn)
  if (typeof name !== 'string') return []
  return [
    {
      ...withoutNulls(extras),
      id: typeof id === 'string' ? id : '',
      type: 'function',
      function: { name, arguments: argumentsText(args) },
    },
  ]
}

/** Arguments as JSON text: some servers send an object where the protocol has a string, some encode it twice. */
function argumentsText(args: unknown): string {
  if (typeof args === 'string') return encodedTwice(args) ?? args
  if (args === undefined || args === null) return ''
  return JSON.stringify(args)
}

/** The inner text where `text` is a JSON string that holds a JSON object. */
function encodedTwice(text: string): string | undefined {
  if (!/^\s*"/.test(text)) return undefined
  try {
    const inner: unknown = JSON.parse(text)
    if (typeof inner === 'string' && typeof JSON.parse(inner) === 'object') return inner
  } catch {
    // Not JSON: the model is told so when the call would run.
  }
  return undefined
}

/** Fields that a provider sends empty with every message say nothing, and some providers refuse them back. */
export function withoutNulls(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(
      ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
    ),
  )
}
