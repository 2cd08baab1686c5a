import { h, type JSX } from 'preact'
import type { RunHistory } from '../run/runHistory.ts'
import { elapsedOf, type RunView } from '../run/runView.ts'
import { offset } from '../words/format.ts'
import { useTexts } from './context.ts'

interface TimeBarProps {
  readonly history: RunHistory
  readonly view: RunView
  /** The index of the event up to which is shown; undefined for the newest. */
  readonly at: number | undefined
  readonly isLive: boolean
  readonly onMove: (at: number | undefined) => void
}

/** The slider over what happened. At its end, the page goes on with the run. */
export function TimeBar({ history, view, at, isLive, onMove }: TimeBarProps): JSX.Element {
  const texts = useTexts()
  const last = Math.max(history.next - 1, 0)
  const position = at === undefined ? last : Math.min(at, last)
  const entry = history.positionAt(position)
  const where = [
    texts.time.event(position, last),
    ...(entry === undefined ? [] : [texts.time.entry(entry)]),
    offset(elapsedOf(view)),
  ].join(' · ')
  const button = (label: string, sign: string, to: number | undefined, isOff: boolean): JSX.Element =>
    h(
      'button',
      {
        type: 'button',
        class: 'step',
        'aria-label': label,
        title: label,
        disabled: isOff,
        onClick: () => onMove(to),
      },
      sign,
    )
  const isPast = at !== undefined
  return h(
    'div',
    { class: `time ${isPast ? 'time-past' : ''}`, role: 'group', 'aria-label': texts.time.heading },
    button(texts.time.first, '⇤', history.first, position <= history.first),
    button(texts.time.back, '←', history.stopFrom(position, -1), position <= history.first),
    h('input', {
      type: 'range',
      min: history.first,
      max: last,
      value: position,
      'aria-label': texts.time.slider,
      'aria-valuetext': where,
      onInput: (event: Event) => onMove(Number((event.currentTarget as HTMLInputElement).value)),
    }),
    button(texts.time.forward, '→', history.stopFrom(position, 1), position >= last),
    h(
      'button',
      {
        type: 'button',
        class: 'newest',
        'aria-pressed': !isPast,
        title: texts.time.toNewest,
        onClick: () => onMove(undefined),
      },
      isLive ? texts.time.live : texts.time.newest,
    ),
    h('span', { class: 'where' }, where),
  )
}
