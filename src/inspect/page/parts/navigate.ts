import { hashOf, type Route } from '../words/route.ts'

/** Goes to another run, so that the browser's way back leads here. */
export function goTo(route: Route): void {
  location.hash = hashOf(route)
}

/** Goes to another moment of the run: the way back does not stop at each. */
export function moveTo(route: Route): void {
  history.replaceState(history.state, '', hashOf(route))
  dispatchEvent(new HashChangeEvent('hashchange'))
}
