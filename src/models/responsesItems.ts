import { fieldsOf } from '../messages/fields.ts'
import { KEPT_FIELDS } from '../messages/keptFields.ts'
import { textOf } from '../messages/normalizeReply.ts'
import type { AssistantMessage, ToolCall } from '../messages/types.ts'

/**
 * The field of an assistant message that holds the output items of the response it came from, as they came.
 * https://platform.openai.com/docs/guides/reasoning#keeping-reasoning-items-in-context
 */
export const RESPONSE_ITEMS: typeof KEPT_FIELDS.responses = KEPT_FIELDS.responses

/** An item of the Responses API, of a request or of a reply. */
export type Item = Readonly<Record<string, unknown>>

/** The items of an `output`, whatever was sent. */
export function itemsOf(output: unknown): readonly Item[] {
  return Array.isArray(output) ? output.map(fieldsOf).filter(({ type }) => typeof type === 'string') : []
}

/** A call that can be run: one that names its function. */
export function isCall({ type, name }: Item): boolean {
  return type === 'function_call' && typeof name === 'string'
}

export function isMessage({ type }: Item): boolean {
  return type === 'message'
}

/** The visible text of these items. */
export function textOfItems(items: readonly Item[]): string {
  return items
    .filter(isMessage)
    .map(({ content }) => textOf(content))
    .join('')
}

/** What of a reply has to be sent back as it came. Nothing where text and calls say all there is. */
export function keptItems(output: readonly Item[]): readonly Item[] {
  const sendable = output.filter((item) =>
    item.type === 'function_call' ? isCall(item) : item.type !== 'reasoning' || standsAlone(item),
  )
  // Reasoning that nothing follows was cut off, and is refused: it belongs to the item after it.
  const kept = sendable.slice(0, sendable.findLastIndex(({ type }) => type !== 'reasoning') + 1)
  return kept.some((item) => !(isCall(item) || isMessage(item)) || typeof item.phase === 'string') ? kept : []
}

/** Reasoning that is known by its id only cannot be found again, because nothing is stored. */
function standsAlone({ encrypted_content: encrypted, content }: Item): boolean {
  return typeof encrypted === 'string' || (Array.isArray(content) && content.length > 0)
}

/**
 * The items that a message came from, fit to be sent back: calls under the ids, names and arguments of the
 * transcript, everything else as it came. Nothing where message and items differ, because somebody edited the message.
 */
export function replayedItems(message: AssistantMessage): readonly Item[] {
  const items = itemsOf(message[RESPONSE_ITEMS])
  const calls = message.tool_calls ?? []
  if (items.filter(isCall).length !== calls.length) return []
  if (textOfItems(items) !== textOf(message.content)) return []
  let position = 0
  return items.map((item) => {
    const call = isCall(item) ? calls[position++] : undefined
    return call === undefined ? item : callItem(call, item)
  })
}

/** The item of a call. Its own id goes: it names a stored item, and the call may have been renamed since. */
export function callItem(
  { id, function: { name, arguments: args } }: ToolCall,
  { id: _itemId, status: _status, ...asItCame }: Item = {},
): Item {
  return { ...asItCame, type: 'function_call', call_id: id, name, arguments: args }
}
