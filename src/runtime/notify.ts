import { messageOf } from '../errors.ts'
import { hush, isThenable } from '../thenables.ts'
import type { AgentEvent } from './events.ts'

export type Watcher = (event: AgentEvent) => unknown

/** What of an event may be seen: a changed copy, or nothing. */
export type Redact = (event: AgentEvent) => AgentEvent | undefined

/** Shows an event as far as it may be seen. A watcher that fails, at once or later, costs a warning, not the run. */
export function notify(watcher: Watcher, event: AgentEvent, redact: Redact = (whole) => whole): void {
  const shown = redacted(event, redact)
  if (shown !== undefined) show(watcher, shown, 'onEvent')
}

/** What of an event may be seen; nothing, and a warning, where it cannot be told what. */
export function redacted(event: AgentEvent, redact: Redact): AgentEvent | undefined {
  try {
    const shown = redact(event)
    hush(shown)
    // Who gives back nothing, or a promise, has not said what may be seen.
    if (typeof shown === 'object' && shown !== null && !isThenable(shown)) return shown
  } catch (thrown) {
    warn('redact', event, thrown)
  }
  return undefined
}

/** @param what What the watcher is called in the warning where it fails. */
export function show(watcher: Watcher, event: AgentEvent, what: string): void {
  try {
    const returned = watcher(event)
    if (returned instanceof Promise) returned.catch((thrown) => warn(what, event, thrown))
  } catch (thrown) {
    warn(what, event, thrown)
  }
}

function warn(what: string, { type }: AgentEvent, thrown: unknown): void {
  process.emitWarning(`${what} threw on "${type}": ${messageOf(thrown)}`, { code: 'LOOPCHART_ON_EVENT' })
}
