import { fieldsOf } from '../messages/fields.ts'
import { textOf } from '../messages/normalizeReply.ts'
import type { AssistantMessage, ContentPart, Message } from '../messages/types.ts'
import { callItem, type Item, replayedItems } from './responsesItems.ts'

/** A conversation as the `input` of the Responses API. */
export function inputItems(messages: readonly Message[]): readonly Item[] {
  return messages.flatMap(itemsOfMessage)
}

function itemsOfMessage(message: Message): readonly Item[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: userContent(message.content) }]
    case 'assistant': {
      const replayed = replayedItems(message)
      return replayed.length > 0 ? replayed : rebuiltItems(message)
    }
    case 'tool':
      return [{ type: 'function_call_output', call_id: message.tool_call_id, output: message.content }]
    default:
      // Not `instructions`: JSON mode wants the word "JSON" in the input, where an agent's format is described.
      return [{ role: message.role, content: message.content }]
  }
}

function rebuiltItems(message: AssistantMessage): readonly Item[] {
  const text = textOf(message.content)
  const calls = (message.tool_calls ?? []).map((call) => callItem(call))
  return text === '' ? calls : [{ role: 'assistant', content: text }, ...calls]
}

function userContent(content: string | readonly ContentPart[]): string | readonly Item[] {
  return typeof content === 'string' ? content : content.map(inputPart)
}

/** Parts that chat completions do not know are taken for parts of the Responses API. */
function inputPart(part: ContentPart): Item {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text }
    case 'image_url':
      return {
        type: 'input_image',
        image_url: part.image_url.url,
        detail: part.image_url.detail ?? 'auto',
      }
    case 'file':
      return { type: 'input_file', ...fieldsOf(part.file) }
    default:
      return part
  }
}
