import { h, type JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Call } from '../run/call.ts'
import type { RunHistory } from '../run/runHistory.ts'
import { roundScale, spanOf } from '../run/span.ts'
import { selectedRow, type TimelineRow } from '../run/timeline.ts'
import { duration, offset } from '../words/format.ts'
import { printableLine } from '../words/printable.ts'
import type { Texts } from '../words/texts.ts'
import { userText } from '../words/userText.ts'
import { EdgeText } from './chartPane.ts'
import { useTexts } from './context.ts'
import { VirtualList } from './virtualList.ts'

const ROW_HEIGHT = 28

interface TimelinePaneProps {
  readonly history: RunHistory
  readonly at: number | undefined
  /** Milliseconds of the run so far. */
  readonly elapsed: number
  readonly onMove: (at: number | undefined) => void
}

/** Everything that happened, one line each; what took time with a bar, so that what ran in parallel is seen. */
export function TimelinePane({ history, at, elapsed, onMove }: TimelinePaneProps): JSX.Element {
  const texts = useTexts()
  const [callsOnly, setCallsOnly] = useState(false)
  const { calls, startedAt } = history.newest
  const rowCount = history.rows.length
  const rows = useMemo(
    () => (callsOnly ? history.rows.filter(({ kind }) => kind === 'call') : history.rows),
    [history, rowCount, callsOnly],
  )
  const byIndex = useMemo(() => new Map(calls.map((call) => [call.index, call])), [calls])
  const scale = roundScale(elapsed)
  const selected = selectedRow(rows, byIndex, at)
  return h(
    'div',
    { class: 'timeline' },
    h(
      'div',
      { class: 'timeline-top' },
      h(
        'div',
        { class: 'chips', role: 'group', 'aria-label': texts.timeline.rows },
        [false, true].map((only) =>
          h(
            'button',
            {
              key: String(only),
              type: 'button',
              'aria-pressed': callsOnly === only,
              onClick: () => setCallsOnly(only),
            },
            only ? texts.timeline.calls : texts.timeline.all,
          ),
        ),
      ),
      h(
        'span',
        { class: 'scale', 'aria-hidden': true },
        h('span', null, '0'),
        h('span', null, duration(scale)),
      ),
    ),
    rows.length === 0
      ? h('p', { class: 'empty' }, texts.timeline.none)
      : h(VirtualList, {
          label: texts.tabs.timeline,
          class: 'timeline-list',
          count: rows.length,
          rowHeight: ROW_HEIGHT,
          current: at === undefined ? undefined : selected,
          followsEnd: at === undefined,
          keyOf: (position) => rows[position]?.index ?? position,
          row: (position) => {
            const row = rows[position]
            if (row === undefined) return null
            const call = byIndex.get(row.index)
            return h(
              'button',
              {
                type: 'button',
                class: classOf(row, call, at),
                'aria-current': position === selected ? 'step' : undefined,
                onClick: () => onMove(momentOf(row, call, history.next - 1)),
              },
              h('span', { class: 'offset' }, offset(row.at - (startedAt ?? row.at))),
              h('span', { class: 'row-text' }, textOf(row, call, texts)),
              call !== undefined &&
                h('span', { class: 'bar-time' }, call.to === undefined ? '…' : duration(call.to - call.from)),
              call !== undefined && h(Bar, { call, elapsed, scale }),
            )
          },
        }),
  )
}

/** A call is looked at when it has ended, everything else when it happens; the last event of all is the present. */
function momentOf(row: TimelineRow, call: Call | undefined, last: number): number | undefined {
  const moment = call === undefined ? row.index : (call.endIndex ?? last)
  return moment >= last ? undefined : moment
}

function classOf(row: TimelineRow, call: Call | undefined, at: number | undefined): string {
  const future = at !== undefined && row.index > at ? 'row-future' : ''
  const failed = call?.status === 'failed' ? 'row-failed' : ''
  return `row row-${call?.kind ?? row.kind} ${failed} ${future}`
}

function textOf(row: TimelineRow, call: Call | undefined, texts: Texts): (JSX.Element | string)[] {
  const { timeline } = texts
  switch (row.kind) {
    case 'started':
      return [strong(row.resumed ? timeline.resumed : timeline.started)]
    case 'transition':
      return [h(EdgeText, { edge: row.edge }), ...evidence(row.verdict?.evidence)]
    case 'message':
      return [strong(timeline.message), quiet(userText(row.message))]
    case 'repaired':
      return [strong(timeline.repaired), quiet(row.notes.join(' '))]
    case 'warned':
      return [strong(`${row.warning.limit} ${timeline.warned}`), quiet(row.warning.evidence)]
    case 'reached':
      return [strong(`${row.verdict.limit}: ${timeline.reached}`), quiet(row.verdict.evidence)]
    case 'finished':
      return [strong(texts.status[row.status]), ...(row.reason === undefined ? [] : [quiet(row.reason)])]
    case 'call':
      return call === undefined ? [] : callText(call, texts)
  }
}

function callText(call: Call, { timeline }: Texts): (JSX.Element | string)[] {
  switch (call.kind) {
    case 'model': {
      const [, step = '', attempt = ''] = call.place.split('.')
      const name = call.closing ? timeline.closing : `${timeline.model} ${step}`
      const again = !call.closing && attempt !== '1' ? [quiet(timeline.attempt(attempt))] : []
      const said = call.reply === undefined ? call.text : call.reply.text
      return [strong(name), ...again, quiet(call.error?.code ?? said)]
    }
    case 'tool':
      return [strong(call.name), quiet(call.error ?? call.arguments)]
    case 'pause':
      return [strong(timeline.backOff), quiet(duration(call.delayMs))]
    case 'compaction':
      return [strong(timeline.compaction), quiet(call.problem ?? call.exhausted ?? '')]
  }
}

function strong(text: string): JSX.Element {
  return h('b', { key: 'b' }, printableLine(text, 60))
}

function quiet(text: string): JSX.Element {
  return h('span', { key: 's', class: 'muted' }, ` ${printableLine(text, 200)}`)
}

function evidence(text: string | undefined): JSX.Element[] {
  return text === undefined ? [] : [quiet(text)]
}

function Bar({ call, elapsed, scale }: { call: Call; elapsed: number; scale: number }): JSX.Element {
  const { from, to, status, kind } = call
  const { start, size } = spanOf(from, to, elapsed, scale)
  return h(
    'span',
    { class: 'bar-track' },
    h('span', {
      class: `bar bar-${kind} bar-${status}`,
      style: { left: `${start * 100}%`, width: `max(3px, ${size * 100}%)` },
    }),
  )
}
