import type { AgentEvent } from './events.ts'

/** Events waiting for their consumer. Pushing never waits: a slow consumer does not slow the run. */
export class EventStream implements AsyncIterableIterator<AgentEvent> {
  readonly #onLeave: () => void
  readonly #events: AgentEvent[] = []
  #waiting: ((result: IteratorResult<AgentEvent>) => void)[] = []
  #closed = false

  /** @param onLeave Called when the consumer leaves before the last event. */
  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  push(event: AgentEvent): void {
    if (this.#closed) return
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#events.push(event)
    else waiting({ done: false, value: event })
  }

  /** No event follows. */
  close(): void {
    this.#closed = true
    for (const waiting of this.#waiting) waiting({ done: true, value: undefined })
    this.#waiting = []
  }

  next(): Promise<IteratorResult<AgentEvent>> {
    const event = this.#events.shift()
    if (event !== undefined) return Promise.resolve({ done: false, value: event })
    if (this.#closed) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }

  return(): Promise<IteratorResult<AgentEvent>> {
    const wasOpen = !this.#closed
    this.#events.length = 0
    this.close()
    if (wasOpen) this.#onLeave()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
