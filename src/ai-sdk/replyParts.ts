import type { LanguageModelV4CustomPart, LanguageModelV4Message } from '@ai-sdk/provider'
import { fieldsOf } from '../messages/fields.ts'
import { KEPT_FIELDS } from '../messages/keptFields.ts'
import { textOf } from '../messages/normalizeReply.ts'
import type { AssistantMessage, ToolCall } from '../messages/types.ts'

/**
 * The field of an assistant message that holds what of a reply only its provider understands: reasoning and its
 * signatures, the metadata of texts and calls, in their order. Calls are only marked; `tool_calls` says what they are.
 */
export const REPLY_PARTS: typeof KEPT_FIELDS.aiSdk = KEPT_FIELDS.aiSdk

/** A part of a reply's content, with whatever fields it has. */
export type ReplyPart = Readonly<Record<string, unknown>>

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
type AssistantPart = AssistantContent[number]

/** The parts of a `content`, whatever was sent. */
export function partsOf(content: unknown): readonly ReplyPart[] {
  return Array.isArray(content) ? content.map(fieldsOf) : []
}

/** A call that is ours to run: providers tell of those as well that they ran themselves. */
export function isCall({ type, toolName, providerExecuted }: ReplyPart): boolean {
  return type === 'tool-call' && typeof toolName === 'string' && providerExecuted !== true
}

export function textOfParts(parts: readonly ReplyPart[]): string {
  return textOf(parts.filter(({ type }) => type === 'text'))
}

/** What of a reply has to be sent back with it. Nothing where text and calls say all there is. */
export function keptParts(parts: readonly ReplyPart[]): readonly ReplyPart[] {
  const kept = parts.flatMap((part): readonly ReplyPart[] => {
    const { type, text, kind, providerMetadata } = part
    const metadata = isFilled(providerMetadata) ? { providerMetadata } : {}
    if (isCall(part)) return [{ type, ...metadata }]
    if (type === 'custom') return [{ type, kind, ...metadata }]
    const isReasoning = type === 'reasoning' && (text !== '' || isFilled(providerMetadata))
    return (type === 'text' || isReasoning) && typeof text === 'string' ? [{ type, text, ...metadata }] : []
  })
  return kept.some(isTelling) ? kept : []
}

function isTelling({ type, providerMetadata }: ReplyPart): boolean {
  return type === 'reasoning' || type === 'custom' || providerMetadata !== undefined
}

function isFilled(metadata: unknown): boolean {
  return Object.keys(fieldsOf(metadata)).length > 0
}

/** The content of an assistant message as it came, or built from text and calls where somebody edited those. */
export function assistantContent(message: AssistantMessage): AssistantContent {
  const calls = message.tool_calls ?? []
  const text = textOf(message.content)
  const kept = partsOf(message[REPLY_PARTS])
  const isUnedited =
    kept.filter(({ type }) => type === 'tool-call').length === calls.length && textOfParts(kept) === text
  if (isUnedited && kept.length > 0) return replayed(kept, calls)
  return [...(text === '' ? [] : [{ type: 'text', text } as const]), ...calls.map((call) => callPart(call))]
}

function replayed(kept: readonly ReplyPart[], calls: readonly ToolCall[]): AssistantContent {
  let position = 0
  return kept.flatMap((part): AssistantPart[] => {
    const options = optionsOf(part)
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return [{ type: part.type, text: String(part.text ?? ''), ...options }]
      case 'custom':
        return [{ type: 'custom', kind: part.kind as LanguageModelV4CustomPart['kind'], ...options }]
      case 'tool-call':
        return calls.slice(position, ++position).map((call) => callPart(call, options))
      default:
        return []
    }
  })
}

type ProviderOptions = Pick<AssistantPart, 'providerOptions'>

/** What a provider says as metadata it takes back as options. */
function optionsOf({ providerMetadata }: ReplyPart): ProviderOptions {
  if (providerMetadata === undefined) return {}
  return { providerOptions: providerMetadata as NonNullable<ProviderOptions['providerOptions']> }
}

function callPart({ id, function: fn }: ToolCall, options: ProviderOptions = {}): AssistantPart {
  return {
    type: 'tool-call',
    toolCallId: id,
    toolName: fn.name,
    input: inputOf(fn.arguments),
    ...options,
  }
}

function inputOf(args: string): unknown {
  try {
    return JSON.parse(args)
  } catch {
    return {}
  }
}
