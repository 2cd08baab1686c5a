import { h, type JSX } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { elapsedOf } from '../run/runView.ts'
import type { Inspector, OpenRun } from '../wire/inspector.ts'
import { printable } from '../words/printable.ts'
import { ApprovalsPane } from './approvalsPane.ts'
import { ChartPane } from './chartPane.ts'
import { useTexts } from './context.ts'
import { DetailsPane } from './detailsPane.ts'
import { useMedia, useNow } from './hooks.ts'
import { LimitsPane } from './limitsPane.ts'
import { MemoryPane } from './memoryPane.ts'
import { moveTo } from './navigate.ts'
import { RunHead } from './runHead.ts'
import { TimeBar } from './timeBar.ts'
import { TimelinePane } from './timelinePane.ts'
import { TranscriptPane } from './transcriptPane.ts'
import { isForField } from './useRunKeys.ts'

const tabs = ['timeline', 'transcript', 'memory', 'limits'] as const
type Tab = (typeof tabs)[number] | 'chart'

/** Narrower than this, the chart is a view among the others. */
const NARROW = '(max-width: 999px)'

interface RunPaneProps {
  readonly inspector: Inspector
  readonly run: OpenRun
  readonly at: number | undefined
}

export function RunPane({ inspector, run, at }: RunPaneProps): JSX.Element {
  const texts = useTexts()
  const isNarrow = useMedia(NARROW)
  const [chosen, setChosen] = useState<Tab>('timeline')
  const [isChartLarge, setIsChartLarge] = useState(false)
  const shown: readonly Tab[] = isNarrow ? ['chart', ...tabs] : tabs
  const tab = shown.includes(chosen) ? chosen : 'timeline'
  const { runId, row, history, error } = run
  const isLive = row?.isLive === true
  const now = useNow(isLive ? 500 : 60_000)
  const newest = history.newest
  const view = at === undefined ? newest : history.viewAt(at)
  const isPast = at !== undefined
  const elapsed =
    isLive && !isPast && newest.startedAt !== undefined
      ? Math.max(elapsedOf(newest), now - newest.startedAt - newest.idleMs)
      : elapsedOf(newest)
  const move = useCallback(
    (to: number | undefined) => moveTo(to === undefined ? { runId } : { runId, at: to }),
    [runId],
  )
  useTabKeys(shown, setChosen, () => setIsChartLarge((isLarge) => !isLarge))

  if (error !== undefined && history.isEmpty) {
    return h(
      'div',
      { class: 'run' },
      h(RunHead, { inspector, run, view, elapsed: 0 }),
      h(
        'p',
        { class: 'empty problem', role: 'alert' },
        error.status === 404 ? texts.run.gone : `${texts.run.problem} ${printable(error.message)}`,
      ),
    )
  }
  const chart = h(ChartPane, {
    drawing: inspector.chart,
    view,
    isLarge: isChartLarge || isNarrow,
    onSize: isNarrow ? undefined : () => setIsChartLarge(!isChartLarge),
  })
  return h(
    'div',
    { class: `run ${isChartLarge && !isNarrow ? 'chart-large' : ''}` },
    h(RunHead, { inspector, run, view: newest, elapsed }),
    h(Notices, { run }),
    h(TimeBar, { history, view, at, isLive, onMove: move }),
    h(
      'div',
      { class: 'split' },
      !isNarrow && chart,
      h(
        'section',
        { class: 'views' },
        h(ApprovalsPane, { inspector, run, view: newest, isPast }),
        h(Tabs, { shown, tab, onTab: setChosen }),
        h(
          'div',
          { class: `view view-${tab}`, id: 'view', role: 'tabpanel', 'aria-labelledby': `tab-${tab}` },
          tab === 'chart' && chart,
          tab === 'timeline' && [
            h(TimelinePane, { key: 'rows', history, at, elapsed, onMove: move }),
            h(DetailsPane, { key: 'details', inspector, run, view, at }),
          ],
          tab === 'transcript' && h(TranscriptPane, { view, isPast }),
          tab === 'memory' && h(MemoryPane, { runId, view, contextWindow: inspector.about?.contextWindow }),
          tab === 'limits' && h(LimitsPane, { view }),
        ),
      ),
    ),
    h(Announcer, { phase: newest.phase }),
  )
}

function Tabs({
  shown,
  tab,
  onTab,
}: {
  shown: readonly Tab[]
  tab: Tab
  onTab: (tab: Tab) => void
}): JSX.Element {
  const texts = useTexts()
  const list = useRef<HTMLDivElement>(null)
  const go = (event: KeyboardEvent): void => {
    const distance = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (distance === undefined) return
    const next = shown[(shown.indexOf(tab) + distance + shown.length) % shown.length]
    if (next === undefined) return
    onTab(next)
    list.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus()
  }
  return h(
    'div',
    { ref: list, class: 'tabs', role: 'tablist', 'aria-label': texts.tabs.label, onKeyDown: go },
    shown.map((name) =>
      h(
        'button',
        {
          key: name,
          id: `tab-${name}`,
          type: 'button',
          role: 'tab',
          'aria-selected': name === tab,
          'aria-controls': 'view',
          tabIndex: name === tab ? 0 : -1,
          onClick: () => onTab(name),
        },
        texts.tabs[name],
      ),
    ),
  )
}

function Notices({ run: { dropped, wasBehind, row, error } }: { run: OpenRun }): JSX.Element | null {
  const texts = useTexts()
  const notices = [
    ...(dropped > 0 ? [texts.run.dropped(dropped)] : []),
    ...(wasBehind ? [texts.run.behind] : []),
    ...(row?.problem === undefined ? [] : [`${texts.run.problem} ${printable(row.problem)}`]),
    ...(error === undefined ? [] : [printable(error.message)]),
  ]
  if (notices.length === 0) return null
  return h(
    'div',
    { class: 'notices' },
    notices.map((notice) => h('p', { key: notice }, notice)),
  )
}

/** Tells people who cannot see the page when the run comes to something. */
function Announcer({
  phase,
}: {
  phase: 'unknown' | 'running' | 'waiting' | 'done' | 'aborted'
}): JSX.Element {
  const texts = useTexts()
  const first = useRef(phase)
  const isNews = phase !== 'unknown' && phase !== first.current
  if (first.current === 'unknown') first.current = phase
  const text = isNews ? texts.announce.state(texts.status[phase]) : ''
  return h('p', { class: 'sr', 'aria-live': 'polite', id: 'announcer' }, text)
}

function useTabKeys(shown: readonly Tab[], onTab: (tab: Tab) => void, onSize: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isForField(event)) return
      const tab = shown[Number(event.key) - 1]
      if (tab !== undefined) onTab(tab)
      else if (event.key === 'z') onSize()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [shown, onTab, onSize])
}
