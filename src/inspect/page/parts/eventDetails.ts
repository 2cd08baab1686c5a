import { h, type JSX } from 'preact'
import type { Verdict } from '../../../machines/limits/judgement.ts'
import type { AgentEvent } from '../../../runtime/events.ts'
import { printable } from '../words/printable.ts'
import { userText } from '../words/userText.ts'
import { EdgeText } from './chartPane.ts'
import { useTexts } from './context.ts'
import { MessageBlock } from './messageBlock.ts'
import { TextBlock } from './textBlock.ts'

/** What one event tells that is not a call's. */
export function EventDetails({ event }: { event: AgentEvent }): JSX.Element | null {
  const texts = useTexts()
  switch (event.type) {
    case 'transition':
      return h(
        'article',
        null,
        h('h3', null, h(EdgeText, { edge: event })),
        event.guard !== undefined && h('p', null, `${texts.timeline.guard}: `, h('code', null, event.guard)),
        event.verdict !== undefined && h(VerdictText, { verdict: event.verdict }),
      )
    case 'messages.appended':
      return h(
        'article',
        null,
        event.messages.map((message, position) => h(MessageBlock, { key: position, message })),
      )
    case 'message.received':
      return h(TextBlock, { text: userText(event.message) })
    case 'history.repaired':
      return h(
        'ul',
        null,
        event.notes.map((note) => h('li', { key: note }, printable(note))),
      )
    case 'limit.warned':
      return h(
        'article',
        null,
        h(VerdictText, { verdict: event.warning }),
        h('h4', null, texts.details.told),
        h(TextBlock, { text: event.warning.text }),
      )
    case 'limit.reached':
      return h(VerdictText, { verdict: event.verdict })
    default:
      return null
  }
}

function VerdictText({ verdict }: { verdict: Verdict }): JSX.Element {
  const { limits, timeline } = useTexts()
  return h(
    'p',
    { class: verdict.reaction === 'warn' ? '' : 'problem' },
    h('code', null, printable(verdict.limit)),
    ` ${verdict.max ?? ''} → ${limits[verdict.reaction]}. ${timeline.evidence}: ${printable(verdict.evidence)}`,
  )
}
