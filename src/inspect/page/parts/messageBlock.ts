import { h, type JSX } from 'preact'
import type { Message } from '../../../messages/types.ts'
import { indented, printableLine } from '../words/printable.ts'
import { userText } from '../words/userText.ts'
import { useTexts } from './context.ts'
import { TextBlock } from './textBlock.ts'

/** A message of the transcript, with its position there where that is known. */
export function MessageBlock({ message, position }: { message: Message; position?: number }): JSX.Element {
  const { transcript } = useTexts()
  const text = userText(message)
  return h(
    'article',
    { class: `message message-${message.role}` },
    h(
      'h3',
      null,
      position !== undefined && h('span', { class: 'muted' }, position),
      transcript.role[message.role],
      message.role === 'tool' && h('code', null, printableLine(message.tool_call_id, 60)),
    ),
    text !== '' && h(TextBlock, { text }),
    message.role === 'assistant' &&
      message.tool_calls?.map(({ id, function: called }) =>
        h(
          'div',
          { key: id, class: 'asked' },
          h('code', null, printableLine(called.name, 80)),
          h('code', { class: 'muted' }, printableLine(id, 60)),
          h(TextBlock, { text: indented(called.arguments) }),
        ),
      ),
  )
}
