import { useEffect, useState } from 'preact/hooks'
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
