import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ModelRequest } from '../../../models/model.ts'
import type { ModelCall } from '../run/call.ts'
import { readEvent } from '../wire/api.ts'
import type { Inspector } from '../wire/inspector.ts'
import { type Route, routeOf } from '../words/route.ts'

/** Draws a component again whenever the inspector has learnt something. */
export function useInspector(inspector: Inspector): void {
  const [, draw] = useState(0)
  useEffect(() => inspector.subscribe(() => draw((times) => times + 1)), [inspector])
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.hash))
  useEffect(() => {
    const follow = (): void => setRoute(routeOf(location.hash))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return route
}

export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const list = matchMedia(query)
    const follow = (): void => setMatches(list.matches)
    list.addEventListener('change', follow)
    return () => list.removeEventListener('change', follow)
  }, [query])
  return matches
}

/** Milliseconds since 1970, brought up to date so often. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

/** All of a request, which is asked for where it was told abridged; undefined until it is there. */
export function useWholeRequest(runId: string, call: ModelCall | undefined): ModelRequest | undefined {
  const { request, abridgedAt } = call ?? {}
  const [read, setRead] = useState<{ readonly at: number; readonly request: ModelRequest }>()
  useEffect(() => {
    if (abridgedAt === undefined) return
    let isWanted = true
    const take = async (): Promise<void> => {
      const { event } = await readEvent(runId, abridgedAt)
      if (isWanted && event.type === 'model.requested') setRead({ at: abridgedAt, request: event.request })
    }
    // Where it is not kept any more, it stays abridged.
    take().catch(() => {})
    return () => {
      isWanted = false
    }
  }, [runId, abridgedAt])
  if (abridgedAt === undefined) return request
  return read?.at === abridgedAt ? read.request : undefined
}

/** How far from its end a box may be scrolled and still follow it, in pixels. */
const NEAR = 60

/** Keeps the end of a box in sight while something is added to it, as long as nobody scrolls away from it. */
export function useEndInSight(isOn: boolean): {
  box: RefObject<HTMLDivElement | null>
  onScroll: () => void
} {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  useLayoutEffect(() => {
    if (box.current !== null && isOn && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight
  })
  const onScroll = (): void => {
    const element = box.current
    if (element !== null)
      isAtEnd.current = element.scrollHeight - element.clientHeight - element.scrollTop < NEAR
  }
  return { box, onScroll }
}
