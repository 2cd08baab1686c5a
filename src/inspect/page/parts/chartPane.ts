import { h, type JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { ChartDrawing } from '../../protocol.ts'
import type { RunView, TakenEdge } from '../run/runView.ts'
import { printable } from '../words/printable.ts'
import { ChartPicture } from './chartPicture.ts'
import { useTexts } from './context.ts'

interface ChartPaneProps {
  readonly drawing: ChartDrawing | undefined
  readonly view: RunView
  /** Whether it has its natural size and scrolls to where the run is, instead of fitting in. */
  readonly isLarge: boolean
  /** Absent where there is no choice. */
  readonly onSize: (() => void) | undefined
}

/** How many of the edges that were taken last are listed. */
const LISTED = 5

export function ChartPane({ drawing, view, isLarge, onSize }: ChartPaneProps): JSX.Element {
  const texts = useTexts()
  const box = useRef<HTMLDivElement>(null)
  const picture = useRef<ChartPicture>(undefined)
  const { state, trail, edgeCounts } = view

  useLayoutEffect(() => {
    if (drawing === undefined || box.current === null) return
    picture.current = new ChartPicture(drawing)
    box.current.replaceChildren(picture.current.element)
  }, [drawing])
  useLayoutEffect(() => {
    picture.current?.show(view)
  }, [drawing, state, trail, edgeCounts])
  useLayoutEffect(() => {
    if (isLarge && state !== undefined) picture.current?.scrollTo(state)
  }, [drawing, isLarge, state])

  const label = state === undefined ? texts.chart.notStarted : texts.chart.state(printable(state))
  return h(
    'section',
    { class: 'chart-pane', 'aria-label': texts.chart.heading },
    h(
      'div',
      { class: 'chart-top' },
      h('span', { class: 'chart-state' }, label),
      h('span', { class: 'gap' }),
      onSize !== undefined &&
        h(
          'button',
          { type: 'button', onClick: onSize, 'aria-pressed': isLarge },
          isLarge ? texts.run.shrink : texts.run.expand,
        ),
    ),
    drawing === undefined
      ? h('p', { class: 'empty' }, texts.chart.none)
      : h('div', {
          ref: box,
          class: isLarge ? 'chart-box chart-natural' : 'chart-box',
          role: 'group',
          'aria-label': `${texts.chart.heading}, ${label}`,
          tabIndex: 0,
        }),
    h(
      'ol',
      { class: 'trail', 'aria-label': texts.chart.trail },
      trail.slice(-LISTED).map((edge) => h('li', { key: edge.index }, h(EdgeText, { edge }))),
    ),
  )
}

export function EdgeText({
  edge,
}: {
  edge: Pick<TakenEdge, 'from' | 'to' | 'event' | 'guard'>
}): JSX.Element {
  const { from, to, event, guard } = edge
  return h(
    'span',
    { class: 'edge-text' },
    h('b', null, printable(from)),
    h('span', { class: event === 'always' ? 'cause always' : 'cause' }, ` ${printable(event)} `),
    guard !== undefined && h('code', null, `[${printable(guard)}]`),
    to !== undefined && [' → ', h('b', { key: 'to' }, printable(to))],
  )
}
