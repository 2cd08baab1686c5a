import { type ComponentChildren, h, type JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { visibleRows } from './visible.ts'

interface VirtualListProps {
  readonly label: string
  readonly class: string
  readonly count: number
  /** Pixels: every row has the same height. */
  readonly rowHeight: number
  readonly keyOf: (position: number) => string | number
  readonly row: (position: number) => ComponentChildren
  /** A row to be kept in sight whenever it changes. */
  readonly current?: number | undefined
  /** Whether the end is kept in sight while rows are added, as long as nobody scrolls away from it. */
  readonly followsEnd?: boolean
  readonly onEndNear?: (() => void) | undefined
}

/** How far from the end a list may be scrolled and still follow it, in pixels. */
const NEAR = 40

/** A list of which only the rows in sight are part of the document. */
export function VirtualList(props: VirtualListProps): JSX.Element {
  const { label, count, rowHeight, current, followsEnd = false, onEndNear } = props
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const [view, setView] = useState({ top: 0, height: 800 })
  const { first, end } = visibleRows(view.top, view.height, rowHeight, count)

  useEffect(() => {
    const element = box.current
    if (element === null) return
    const measure = (): void => setView({ top: element.scrollTop, height: element.clientHeight })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    measure()
    return () => observer.disconnect()
  }, [])

  useLayoutEffect(() => {
    const element = box.current
    if (element !== null && followsEnd && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [count, followsEnd, view.height])

  useLayoutEffect(() => {
    const element = box.current
    if (element === null || current === undefined || current < 0) return
    const top = current * rowHeight
    if (top < element.scrollTop) element.scrollTop = top - rowHeight
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + 2 * rowHeight - element.clientHeight
  }, [current, rowHeight, view.height])

  const scrolled = (): void => {
    const element = box.current
    if (element === null) return
    const left = element.scrollHeight - element.clientHeight - element.scrollTop
    isAtEnd.current = left < NEAR
    setView({ top: element.scrollTop, height: element.clientHeight })
    if (left < 10 * rowHeight) onEndNear?.()
  }

  const rows: JSX.Element[] = []
  for (let position = first; position < end; position += 1) {
    const place = { top: `${position * rowHeight}px`, height: `${rowHeight}px` }
    rows.push(
      h(
        'li',
        { key: props.keyOf(position), style: place, 'aria-setsize': count, 'aria-posinset': position + 1 },
        props.row(position),
      ),
    )
  }
  return h(
    'div',
    { ref: box, class: `virtual ${props.class}`, onScroll: scrolled },
    h('ul', { 'aria-label': label, style: { height: `${count * rowHeight}px` } }, rows),
  )
}
