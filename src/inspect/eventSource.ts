import type { Hub } from './hub.ts'
import type { RunRow, StreamMessage } from './protocol.ts'
import { eventTexts, pageOf, type Timeline } from './timeline.ts'

/** Milliseconds after which a silent stream says that it is still there. */
const HEARTBEAT_MS = 15_000

/** The most rows in one piece. */
const ROWS_AT_ONCE = 200

export interface StreamOptions {
  readonly runId?: string | undefined
  /** The number of the first event that is wanted. Default: those that come from now on. */
  readonly from?: number | undefined
  /** The id of the last message that was received, after a break. */
  readonly lastEventId?: string | undefined
  /** Aborted where the client is gone, even if nobody has begun to read. */
  readonly signal?: AbortSignal
  /** Called once nobody reads any more. */
  closed?(): void
}

/** Where a client stands: what it has been sent is everything before. */
interface Position {
  readonly instance: string
  /** The number of the last change of a row. */
  readonly change: number
  readonly numbering: string
  /** The number of the next event. */
  readonly next: number
}

/**
 * The server-sent events for one client. It holds nothing of what is to be sent but how far the client is: a client that
 * is slow is told less often and more at once, and one that has missed what is not kept any more is told `behind`.
 */
export function eventSource(hub: Hub, options: StreamOptions): ReadableStream<Uint8Array> {
  const source = new EventSource(hub, options)
  options.signal?.addEventListener('abort', () => source.close(), { once: true })
  return new ReadableStream<Uint8Array>(
    { pull: (controller) => source.pull(controller), cancel: () => source.close() },
    { highWaterMark: 0 },
  )
}

class EventSource {
  readonly #hub: Hub
  readonly #runId: string | undefined
  readonly #unlisten: () => void
  readonly #encoder = new TextEncoder()
  #change: number
  #next: number | undefined
  #numbering: string | undefined
  #isNew = true
  /** Whether something has changed since the last look. */
  #hasNews = true
  #isClosed = false
  #wake: (() => void) | undefined
  readonly #closed: (() => void) | undefined

  constructor(hub: Hub, { runId, from, lastEventId, closed }: StreamOptions) {
    this.#closed = closed
    this.#hub = hub
    this.#runId = runId
    this.#change = hub.lastChange
    this.#next = from
    const last = positionOf(lastEventId)
    if (last !== undefined && last.instance === hub.instance) {
      this.#change = last.change
      if (last.numbering !== '') {
        this.#next = last.next
        this.#numbering = last.numbering
      }
    }
    this.#unlisten = hub.listen(() => this.#look())
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const text = await this.#nextPiece()
      if (text === undefined) controller.close()
      else controller.enqueue(this.#encoder.encode(text))
    } catch (thrown) {
      this.close()
      controller.error(thrown)
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#unlisten()
    this.#closed?.()
    this.#wake?.()
  }

  #look(): void {
    this.#hasNews = true
    this.#wake?.()
  }

  /** Waits for something to tell; `undefined` where nothing follows. */
  async #nextPiece(): Promise<string | undefined> {
    for (;;) {
      if (this.#isClosed || this.#hub.isClosed) {
        this.close()
        return undefined
      }
      this.#hasNews = false
      const messages = [...this.#hello(), ...(await this.#rows()), ...(await this.#events())]
      if (messages.length > 0) return this.#written(messages)
      if (this.#hasNews) continue
      const heard = await this.#waited()
      if (!heard) return ': still here\n\n'
    }
  }

  /** Whether something has happened before it was time for a sign of life. */
  #waited(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => wake(false), HEARTBEAT_MS).unref()
      const wake = (heard: boolean): void => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve(heard)
      }
      this.#wake = () => wake(true)
    })
  }

  #hello(): readonly string[] {
    if (!this.#isNew) return []
    this.#isNew = false
    return [text({ type: 'hello', instance: this.#hub.instance })]
  }

  async #rows(): Promise<readonly string[]> {
    const changed = this.#hub.changedSince(this.#change)
    this.#change = this.#hub.lastChange
    // Whoever has missed so many reads the list anew.
    if (changed === undefined || changed.length > ROWS_AT_ONCE) return [text({ type: 'behind' })]
    const rows: RunRow[] = []
    for (const runId of changed) {
      const row = await this.#hub.row(runId, true).catch(() => undefined)
      if (row !== undefined) rows.push(row)
    }
    return rows.map((run) => text({ type: 'run', run }))
  }

  async #events(): Promise<readonly string[]> {
    const runId = this.#runId
    if (runId === undefined) return []
    const timeline = await this.#hub.timeline(runId)
    if (timeline === undefined) {
      // It may begin yet, and is wanted from its beginning then.
      this.#next ??= 0
      return []
    }
    const from = this.#next ?? timeline.next
    const isOther = this.#numbering !== undefined && this.#numbering !== timeline.numbering
    this.#numbering = timeline.numbering
    if (isOther || from < timeline.first || from > timeline.next) {
      this.#next = timeline.next
      return [text({ type: 'behind' })]
    }
    return this.#eventsFrom(timeline, from)
  }

  #eventsFrom(timeline: Timeline, from: number): readonly string[] {
    const range = pageOf(timeline, from, { events: 200, characters: 200_000 })
    this.#next = range.to
    if (range.to < timeline.next) this.#hasNews = true
    const id = JSON.stringify(this.#runId)
    return eventTexts(timeline, range).map((event) => `{"type":"event","runId":${id},"event":${event}}`)
  }

  /** Only the last one says where to go on: who has received a part of them is sent all of them again. */
  #written(messages: readonly string[]): string {
    const { instance } = this.#hub
    const id = [instance, this.#change, this.#next ?? 0, this.#numbering ?? ''].join('/')
    const last = messages.length - 1
    return messages.map((message, i) => `${i === last ? `id: ${id}\n` : ''}data: ${message}\n\n`).join('')
  }
}

function text(message: StreamMessage): string {
  return JSON.stringify(message)
}

function positionOf(id: string | undefined): Position | undefined {
  const [instance, change, next, numbering] = id?.split('/') ?? []
  if (instance === undefined || numbering === undefined) return undefined
  const numbers = [Number(change), Number(next)] as const
  if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) return undefined
  return { instance, change: numbers[0], next: numbers[1], numbering }
}
