import { h, type JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { ModelCall } from '../run/call.ts'
import type { RunView } from '../run/runView.ts'
import { type Showing, shownIn } from '../run/shown.ts'
import { count } from '../words/format.ts'
import { printableLine } from '../words/printable.ts'
import { userText } from '../words/userText.ts'
import { useTexts } from './context.ts'
import { useWholeRequest } from './hooks.ts'

/** How many of the newest requests and messages are listed. */
const REQUESTS = 40
const MESSAGES = 300

interface MemoryPaneProps {
  readonly runId: string
  readonly view: RunView
  /** In tokens; undefined where it is not known. */
  readonly contextWindow: number | undefined
}

/** What of the transcript the model was shown last, and what was left out. */
export function MemoryPane({ runId, view, contextWindow }: MemoryPaneProps): JSX.Element {
  const texts = useTexts()
  const { memory } = texts
  const { calls, transcript } = view
  const asked = calls.filter((call): call is ModelCall => call.kind === 'model')
  const last = asked.findLast(({ request }) => request !== undefined)
  const request = useWholeRequest(runId, last)
  const shown = useMemo(
    () =>
      request === undefined
        ? undefined
        : shownIn(transcript.slice(0, last?.transcriptLength), request.messages),
    [request, last?.transcriptLength, transcript],
  )
  if (last === undefined) return h('p', { class: 'empty' }, memory.none)
  if (request === undefined || shown === undefined) return h('p', { class: 'empty' }, memory.abridged)
  const tally = (kind: Showing): number => shown.transcript.filter((showing) => showing === kind).length
  const first = Math.max(0, shown.transcript.length - MESSAGES)
  return h(
    'div',
    { class: 'memory', tabIndex: 0, role: 'group', 'aria-label': texts.tabs.memory },
    h('h3', null, memory.heading(last.place)),
    h('p', null, memory.summary(tally('whole'), tally('shortened'), tally('left out'))),
    h(TokenBar, { call: last, most: contextWindow }),
    h(
      'ol',
      { class: 'shown' },
      shown.added.map((position) => {
        const message = request.messages[position]
        if (message === undefined) return null
        return h(
          'li',
          { key: `added ${position}`, class: 'shown-added' },
          h('span', { class: 'showing' }, memory.added),
          h('b', null, texts.transcript.role[message.role]),
          h('span', null, printableLine(userText(message), 200)),
        )
      }),
      shown.transcript.slice(first).map((showing, i) => {
        const position = first + i
        const message = transcript[position]
        if (message === undefined) return null
        return h(
          'li',
          { key: position, class: `shown-${showing.replace(' ', '-')}` },
          h('span', { class: 'showing' }, labelOf(showing, memory)),
          h('b', null, texts.transcript.role[message.role]),
          h('span', null, printableLine(userText(message) || callsText(message), 200)),
        )
      }),
    ),
    h('h3', null, memory.growth),
    h(
      'ol',
      { class: 'requests' },
      asked
        .slice(-REQUESTS)
        .map((call) =>
          h(
            'li',
            { key: call.index },
            h('code', null, call.place),
            h(TokenBar, { call, most: mostOf(asked, contextWindow) }),
          ),
        ),
    ),
  )
}

function labelOf(showing: Showing, texts: { whole: string; shortened: string; leftOut: string }): string {
  return { whole: texts.whole, shortened: texts.shortened, 'left out': texts.leftOut }[showing]
}

function callsText(message: object): string {
  const { tool_calls: calls } = message as { tool_calls?: readonly { function: { name: string } }[] }
  return calls?.map(({ function: called }) => called.name).join(', ') ?? ''
}

function tokensOf({ reply, requestTokens }: ModelCall): number | undefined {
  return reply?.usage.inputTokens ?? requestTokens
}

function mostOf(calls: readonly ModelCall[], contextWindow: number | undefined): number {
  return contextWindow ?? calls.reduce((most, call) => Math.max(most, tokensOf(call) ?? 0), 1)
}

/** The tokens of a request against the most that there can be, where that is known. */
function TokenBar({ call, most }: { call: ModelCall; most: number | undefined }): JSX.Element {
  const { memory, runs } = useTexts()
  const tokens = tokensOf(call)
  if (tokens === undefined) return h('span', { class: 'token-bar muted' }, '–')
  const source = call.reply === undefined ? memory.counted : memory.reported
  const of = most === undefined ? '' : ` / ${count(most)}`
  return h(
    'span',
    { class: 'token-bar' },
    h(
      'span',
      { class: 'token-track', 'aria-hidden': true },
      h('span', {
        class: 'token-fill',
        style: { width: `${Math.min(100, (100 * tokens) / (most ?? tokens))}%` },
      }),
    ),
    h('span', { title: `${memory.tokens}, ${source}` }, runs.tokens(`${count(tokens)}${of}`)),
  )
}
