import { type Fields, fieldsOf, isFields } from '../../messages/fields.ts'
import { KEPT_FIELDS } from '../../messages/keptFields.ts'
import { audioTokens, fileTokens, imageTokens } from './mediaTokens.ts'
import { type CountText, valueTokens } from './valueTokens.ts'

/**
 * What surrounds each message and each name, from OpenAI's "How to count tokens with tiktoken",
 * https://developers.openai.com/cookbook/examples/how_to_count_tokens_with_tiktoken
 */
const MESSAGE_OVERHEAD = 3
const NAME_OVERHEAD = 1

/** What surrounds a call: the same source gives no figure, so it is taken for a message. */
const CALL_OVERHEAD = 3

/** Entries of the fields of `KEPT_FIELDS` that say what content and calls of the message say already. */
const SAID_ALREADY: ReadonlySet<unknown> = new Set(['message', 'function_call', 'text', 'tool-call'])

/**
 * Tokens of a message: role, content, name, calls, and whatever a provider has added, as JSON text. Ids are not
 * counted: they only tie results to calls. What is no message costs what surrounds one.
 */
export function messageTokens(message: unknown, countText: CountText): number {
  const { role, content, name, tool_calls: calls, tool_call_id: _, ...extras } = fieldsOf(message)
  let tokens = MESSAGE_OVERHEAD + textTokens(role, countText) + contentTokens(content, countText)
  if (typeof name === 'string') tokens += NAME_OVERHEAD + countText(name)
  if (Array.isArray(calls)) for (const call of calls) tokens += callTokens(fieldsOf(call), countText)
  return tokens + extraTokens(extras, countText)
}

function textTokens(text: unknown, countText: CountText): number {
  return typeof text === 'string' ? countText(text) : 0
}

function contentTokens(content: unknown, countText: CountText): number {
  if (typeof content === 'string') return countText(content)
  if (!Array.isArray(content)) return valueTokens(content, countText)
  return content.reduce((sum: number, part: unknown) => sum + partTokens(part, countText), 0)
}

/** Parts of the Responses API are counted too: they pass through to it. */
function partTokens(part: unknown, countText: CountText): number {
  const { type, text, image_url: image, detail, input_audio: audio, file } = fieldsOf(part)
  switch (type) {
    case 'image_url':
    case 'input_image':
      return imageTokens(fieldsOf(image).detail ?? detail)
    case 'input_audio':
      return audioTokens(fieldsOf(audio))
    case 'file':
    case 'input_file':
      return fileTokens(fieldsOf(isFields(file) ? file : part))
    default:
      return typeof text === 'string' ? countText(text) : valueTokens(part, countText)
  }
}

function callTokens(call: Fields, countText: CountText): number {
  const { id: _, type: __, function: called, ...extras } = call
  const { name, arguments: args } = fieldsOf(called)
  return (
    CALL_OVERHEAD +
    textTokens(name, countText) +
    valueTokens(args, countText) +
    extraTokens(extras, countText)
  )
}

function extraTokens(extras: Fields, countText: CountText): number {
  const keptFields: readonly string[] = Object.values(KEPT_FIELDS)
  return Object.entries(extras).reduce((sum, [field, value]) => {
    const counted = keptFields.includes(field) ? withoutSaidAlready(value) : value
    return sum + valueTokens(counted, countText)
  }, 0)
}

function withoutSaidAlready(kept: unknown): unknown {
  return Array.isArray(kept) ? kept.filter((entry) => !SAID_ALREADY.has(fieldsOf(entry).type)) : kept
}
