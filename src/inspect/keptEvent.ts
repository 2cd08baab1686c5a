import type { ModelRequest } from '../models/model.ts'
import type { AgentEvent } from '../runtime/events.ts'
import { plainJson } from './plainJson.ts'

/** An event as it is kept for those who look at the run. */
export interface KeptEvent {
  /** JSON text. */
  readonly text: string
  /** What was left out of the text: a long request, or a transcript that was told already. */
  readonly isAbridged: boolean
  /** All of it, where it is still there. */
  readonly whole?: (() => string) | undefined
  /** About how much memory it holds. */
  readonly bytes: number
  readonly position?: number | undefined
}

/** The most characters of an event that repeats the conversation; a longer one is abridged. */
const MOST_REPEATED = 32_000

/** Keeps an event as it is now: what becomes of its objects later does not matter. */
export function keepEvent(event: AgentEvent): KeptEvent {
  const request = requestIn(event)
  if (request !== undefined && sizeOf(request) > MOST_REPEATED) {
    const text = plainJson(abridged(event))
    return { text, isAbridged: true, whole: () => plainJson(event), bytes: text.length + sizeOf(request) }
  }
  const text = plainJson(event)
  if (text.length <= MOST_REPEATED || !repeats(event)) return { text, isAbridged: false, bytes: text.length }
  const short = plainJson(abridged(event))
  return { text: short, isAbridged: true, bytes: short.length }
}

/** The same without what was left out of its text. */
export function withoutWhole({ text, position }: KeptEvent): KeptEvent {
  return { text, isAbridged: true, bytes: text.length, position }
}

/** An event without the part of the conversation that it repeats. */
export function abridged(event: AgentEvent): AgentEvent {
  switch (event.type) {
    case 'model.requested':
      return { ...event, request: { ...event.request, messages: [], tools: [] } }
    case 'run.finished':
      return { ...event, outcome: { ...event.outcome, transcript: [] } }
    case 'tool.progress': {
      const below = eventBelow(event)
      return below === undefined ? event : { ...event, progress: { type: 'agent', event: abridged(below) } }
    }
    default:
      return event
  }
}

function repeats(event: AgentEvent): boolean {
  const below = eventBelow(event)
  return event.type === 'run.finished' || (below !== undefined && repeats(below))
}

/** The request that an event tells of: its own, or that of an agent below. */
function requestIn(event: AgentEvent): ModelRequest | undefined {
  if (event.type === 'model.requested') return event.request
  const below = eventBelow(event)
  return below && requestIn(below)
}

/** The event of a sub-agent that an event tells of. */
function eventBelow(event: AgentEvent): AgentEvent | undefined {
  if (event.type !== 'tool.progress') return undefined
  const { type, event: below } = (event.progress ?? {}) as { type?: unknown; event?: Partial<AgentEvent> }
  return type === 'agent' && typeof below?.type === 'string' ? (below as AgentEvent) : undefined
}

/** Messages at the beginning and at the end of a request that are measured; the others are taken to be as long. */
const MEASURED = 50

/** Characters of a message, measured once: requests share the messages of their conversation. */
const sizes = new WeakMap<object, number>()

/** About how many characters a request has, without looking at all of a long one. */
function sizeOf({ messages }: ModelRequest): number {
  const isLong = messages.length > 2 * MEASURED
  const measured = isLong ? [...messages.slice(0, MEASURED), ...messages.slice(-MEASURED)] : messages
  let size = 0
  for (const message of measured) {
    const known = sizes.get(message) ?? plainJson(message).length
    sizes.set(message, known)
    size += known
  }
  return isLong ? Math.ceil((size * messages.length) / measured.length) : size
}
