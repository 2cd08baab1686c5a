import { h, type JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { RunStatus } from '../../../journal/entry.ts'
import type { RunRow } from '../../protocol.ts'
import type { Inspector } from '../wire/inspector.ts'
import { age, count, money } from '../words/format.ts'
import { printableLine } from '../words/printable.ts'
import { hashOf } from '../words/route.ts'
import { useTexts } from './context.ts'
import { useNow } from './hooks.ts'
import { StatusBadge } from './statusBadge.ts'
import { VirtualList } from './virtualList.ts'

const ROW_HEIGHT = 58
const SEARCH_AFTER_MS = 200

const statuses: readonly (RunStatus | undefined)[] = [undefined, 'running', 'waiting', 'done', 'aborted']

export function RunsPane({
  inspector,
  runId,
}: {
  inspector: Inspector
  runId: string | undefined
}): JSX.Element {
  const texts = useTexts()
  const now = useNow(10_000)
  const [search, setSearch] = useState('')
  const [status, setStatus] = useState<RunStatus>()
  const isFirst = useRef(true)
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false
      return
    }
    const timer = setTimeout(() => inspector.filterRuns({ status, search: search.trim() }), SEARCH_AFTER_MS)
    return () => clearTimeout(timer)
  }, [inspector, search, status])
  const { rows } = inspector.list
  const isFiltered = search.trim() !== '' || status !== undefined
  const current = rows.findIndex((row) => row.runId === runId)
  return h(
    'nav',
    { class: 'runs', 'aria-label': texts.runs.heading },
    h(
      'div',
      { class: 'runs-top' },
      h(
        'h2',
        null,
        texts.runs.heading,
        h('span', { class: 'muted' }, texts.runs.shown(rows.length, inspector.nextRuns !== undefined)),
      ),
      h('input', {
        id: 'search',
        type: 'search',
        value: search,
        placeholder: texts.runs.searchHint,
        'aria-label': texts.runs.searchHint,
        onInput: (event: Event) => setSearch((event.currentTarget as HTMLInputElement).value),
        onKeyDown: (event: KeyboardEvent) => {
          if (event.key === 'Escape') (event.currentTarget as HTMLInputElement).blur()
        },
      }),
      h(
        'div',
        { class: 'chips', role: 'group', 'aria-label': texts.runs.filter },
        statuses.map((name) =>
          h(
            'button',
            {
              key: name ?? 'all',
              type: 'button',
              'aria-pressed': status === name,
              onClick: () => setStatus(name),
            },
            name === undefined ? texts.runs.all : texts.status[name],
          ),
        ),
      ),
    ),
    rows.length === 0
      ? h('p', { class: 'empty' }, emptyText(inspector, isFiltered, texts.runs))
      : h(VirtualList, {
          label: texts.runs.heading,
          class: 'runs-list',
          count: rows.length,
          rowHeight: ROW_HEIGHT,
          current: current === -1 ? undefined : current,
          keyOf: (position) => rows[position]?.runId ?? position,
          row: (position) => {
            const row = rows[position]
            return row === undefined ? null : h(RunItem, { row, now, isCurrent: row.runId === runId })
          },
          onEndNear: () => void inspector.readMoreRuns(),
        }),
  )
}

function emptyText(
  { isListLoading, listProblem }: Inspector,
  isFiltered: boolean,
  texts: { loading: string; none: string; noneYet: string; unread(problem: string): string },
): string {
  if (isListLoading) return texts.loading
  if (listProblem !== undefined) return texts.unread(listProblem)
  return isFiltered ? texts.none : texts.noneYet
}

function RunItem({ row, now, isCurrent }: { row: RunRow; now: number; isCurrent: boolean }): JSX.Element {
  const texts = useTexts()
  const { runId, status, reason, question, steps, tokens, cost, startedAt, isLive, problem, forkOf } = row
  const facts = [
    texts.runs.steps(steps),
    ...(tokens === undefined ? [] : [texts.runs.tokens(count(tokens))]),
    ...(cost === undefined ? [] : [texts.runs.cost(money(cost))]),
  ]
  return h(
    'a',
    {
      href: hashOf({ runId }),
      class: 'run-item',
      'aria-current': isCurrent ? 'page' : undefined,
      title: [runId, ...(forkOf === undefined ? [] : [texts.runs.forkOf(forkOf.runId, forkOf.at)])].join(
        '\n',
      ),
    },
    h(
      'span',
      { class: 'run-top' },
      h(
        'span',
        { class: 'run-question', dir: 'auto' },
        forkOf !== undefined && h('span', { class: 'fork' }, texts.runs.fork),
        printableLine(problem ?? question ?? runId, 160),
      ),
      h(
        'time',
        { dateTime: new Date(startedAt).toISOString(), title: new Date(startedAt).toLocaleString() },
        age(now - startedAt, texts.ages),
      ),
    ),
    h(
      'span',
      { class: 'run-facts' },
      h(StatusBadge, { status, reason: problem === undefined ? reason : undefined }),
      isLive && h('span', { class: 'live' }, texts.runs.live),
      h('span', { class: 'run-numbers' }, facts.join(' · ')),
    ),
  )
}
