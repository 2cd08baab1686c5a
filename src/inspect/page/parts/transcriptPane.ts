import { h, type JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { RunView } from '../run/runView.ts'
import { userText } from '../words/userText.ts'
import { useTexts } from './context.ts'
import { useEndInSight } from './hooks.ts'
import { MessageBlock } from './messageBlock.ts'
import { TextBlock } from './textBlock.ts'

/** How many messages are shown before somebody asks for more. */
const SHOWN = 100

/** The conversation as it stood, and what the model is saying. */
export function TranscriptPane({ view, isPast }: { view: RunView; isPast: boolean }): JSX.Element {
  const texts = useTexts()
  const [most, setMost] = useState(SHOWN)
  const { box, onScroll } = useEndInSight(!isPast)
  const { transcript, unread, calls } = view
  const first = Math.max(0, transcript.length - most)
  const speaking = calls.findLast((call) => call.kind === 'model')
  const streamed = speaking?.status === 'running' && !speaking.isVoid ? speaking.text : ''
  return h(
    'div',
    {
      ref: box,
      class: 'transcript',
      tabIndex: 0,
      role: 'log',
      'aria-live': 'off',
      'aria-label': texts.tabs.transcript,
      onScroll,
    },
    transcript.length === 0 && h('p', { class: 'empty' }, texts.transcript.none),
    first > 0 &&
      h(
        'button',
        { type: 'button', class: 'link', onClick: () => setMost(most * 4) },
        texts.transcript.earlier(first),
      ),
    transcript
      .slice(first)
      .map((message, i) => h(MessageBlock, { key: first + i, message, position: first + i })),
    streamed !== '' &&
      h(
        'article',
        { key: 'streamed', class: 'message message-assistant' },
        h(
          'h3',
          null,
          texts.transcript.role.assistant,
          h('span', { class: 'streaming' }, texts.details.streaming),
        ),
        h(TextBlock, { text: streamed }),
      ),
    unread.map((message, i) =>
      h(
        'article',
        { key: `unread ${i}`, class: 'message message-user message-unread' },
        h('h3', null, texts.transcript.role.user, h('span', { class: 'muted' }, texts.transcript.unread)),
        h(TextBlock, { text: userText(message) }),
      ),
    ),
  )
}
