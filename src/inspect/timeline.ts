import { type KeptEvent, withoutWhole } from './keptEvent.ts'
import type { EventsPage, InspectedEvent } from './protocol.ts'

/** The events of a run, numbered. */
export interface Timeline {
  /** Changes where the events are numbered anew: what was read before does not go with what is read now. */
  readonly numbering: string
  /** The number of the first event that is kept. */
  readonly first: number
  /** The number that the next event will have. */
  readonly next: number
  at(index: number): KeptEvent | undefined
}

/** The most events, and characters, of one page. */
const PAGE_EVENTS = 1000
const PAGE_CHARACTERS = 1_000_000

/** How much a page holds at most. */
export interface PageSize {
  readonly events?: number
  readonly characters?: number
}

/** Which events a page holds. */
export interface PageRange {
  readonly from: number
  readonly to: number
}

/** As many events from a number on as fit a page; at least one, where there is one. */
export function pageOf(
  timeline: Timeline,
  from: number,
  { events = PAGE_EVENTS, characters = PAGE_CHARACTERS }: PageSize = {},
): PageRange {
  const start = Math.min(Math.max(from, timeline.first), timeline.next)
  let to = start
  for (let size = 0; to < timeline.next && to - start < events; to++) {
    size += timeline.at(to)?.text.length ?? 0
    if (size > characters && to > start) break
  }
  return { from: start, to }
}

/** An `EventsPage` as JSON text. */
export function pageText(timeline: Timeline, from: number): string {
  const range = pageOf(timeline, from)
  const facts: Omit<EventsPage, 'events'> = {
    next: range.to,
    hasMore: range.to < timeline.next,
    dropped: timeline.first,
    numbering: timeline.numbering,
  }
  return `{"events":[${eventTexts(timeline, range).join()}],${JSON.stringify(facts).slice(1)}`
}

/** Each an `InspectedEvent` as JSON text. */
export function eventTexts(timeline: Timeline, { from, to }: PageRange): readonly string[] {
  return Array.from({ length: to - from }, (_, i) => eventText(timeline, from + i))
}

/** @param whole Whether nothing is to be left out, as far as it is still there. */
export function eventText(timeline: Timeline, index: number, whole = false): string {
  const kept = timeline.at(index)
  const all = whole ? kept?.whole : undefined
  const { position } = kept ?? {}
  const facts: Omit<InspectedEvent, 'event'> = {
    index,
    ...(position === undefined ? {} : { position }),
    ...(kept?.isAbridged === true && all === undefined ? { abridged: true } : {}),
  }
  return `{"event":${all?.() ?? kept?.text ?? 'null'},${JSON.stringify(facts).slice(1)}`
}

/** What a run has told lately, within bounds: the oldest events go first. */
export class EventBuffer implements Timeline {
  readonly numbering: string
  readonly #most: BufferBounds
  #events: KeptEvent[] = []
  #first = 0
  #bytes = 0
  /** Bytes of requests that can be told whole. */
  #wholeBytes = 0
  /** The first event that may still have its whole. */
  #firstWhole = 0

  constructor(numbering: string, most: BufferBounds) {
    this.numbering = numbering
    this.#most = most
  }

  get first(): number {
    return this.#first
  }

  get next(): number {
    return this.#first + this.#events.length
  }

  /** About how much memory it holds. */
  get bytes(): number {
    return this.#bytes
  }

  at(index: number): KeptEvent | undefined {
    return this.#events[index - this.#first]
  }

  push(event: KeptEvent): void {
    this.#events.push(event)
    this.#bytes += event.bytes
    if (event.whole !== undefined) this.#wholeBytes += event.bytes
    // Old requests are abridged before anything is dropped: they repeat what is kept beside them.
    while (this.#wholeBytes > this.#most.bytes / 2 && this.#firstWhole < this.next) this.#abridgeOldest()
    if (this.#events.length > this.#most.events || this.#bytes > this.#most.bytes) this.drop(1 / 8)
  }

  /** Drops the oldest part of the events. */
  drop(share: number): void {
    const dropped = this.#events.splice(0, Math.ceil(this.#events.length * share))
    this.#first += dropped.length
    for (const { bytes, whole } of dropped) {
      this.#bytes -= bytes
      if (whole !== undefined) this.#wholeBytes -= bytes
    }
  }

  #abridgeOldest(): void {
    const index = Math.max(this.#firstWhole, this.#first)
    this.#firstWhole = index + 1
    const event = this.at(index)
    if (event?.whole === undefined) return
    const short = withoutWhole(event)
    this.#events[index - this.#first] = short
    this.#bytes -= event.bytes - short.bytes
    this.#wholeBytes -= event.bytes
  }
}

export interface BufferBounds {
  readonly events: number
  readonly bytes: number
}

/** Events that are all there. */
export function timelineOf(numbering: string, events: readonly KeptEvent[]): Timeline {
  return { numbering, first: 0, next: events.length, at: (index) => events[index] }
}

/** The events of a buffer, behind those that came before them. */
export function behind(before: readonly KeptEvent[], buffer: EventBuffer): Timeline {
  const offset = before.length
  return {
    numbering: `${buffer.numbering}+${offset}`,
    // What was dropped in between is missing: what came before it would not lead to what follows.
    get first() {
      return buffer.first === 0 ? 0 : offset + buffer.first
    },
    get next() {
      return offset + buffer.next
    },
    at: (index) => (index < offset ? before[index] : buffer.at(index - offset)),
  }
}
