import type { AgentEvent } from './events.ts'
import { Queue } from './queue.ts'

/** Events waiting for their consumer. Pushing never waits: a slow consumer does not slow the run. */
export class EventStream implements AsyncIterableIterator<AgentEvent> {
  readonly #onLeave: () => void
  readonly #events = new Queue<AgentEvent>()
  #waiting: PromiseWithResolvers<IteratorResult<AgentEvent>>[] = []
  #closed = false
  #failure: { readonly error: unknown } | undefined

  /** @param onLeave Called when the consumer leaves before the last event. */
  constructor(onLeave: () => void) {
    this.#onLeave = onLeave
  }

  push(event: AgentEvent): void {
    if (this.#closed) return
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#events.push(event)
    else waiting.resolve({ done: false, value: event })
  }

  /** No event follows. */
  close(): void {
    this.#closed = true
    for (const waiting of this.#waiting) waiting.resolve({ done: true, value: undefined })
    this.#waiting = []
  }

  /** No event follows, because the run could not begin. A consumer that only iterates hears of it too. */
  fail(error: unknown): void {
    this.#closed = true
    const [first, ...others] = this.#waiting
    if (first === undefined) this.#failure = { error }
    else first.reject(error)
    for (const waiting of others) waiting.resolve({ done: true, value: undefined })
    this.#waiting = []
  }

  next(): Promise<IteratorResult<AgentEvent>> {
    const event = this.#events.shift()
    if (event !== undefined) return Promise.resolve({ done: false, value: event })
    if (this.#failure !== undefined) {
      const { error } = this.#failure
      this.#failure = undefined
      return Promise.reject(error)
    }
    if (this.#closed) return Promise.resolve({ done: true, value: undefined })
    const waiting = Promise.withResolvers<IteratorResult<AgentEvent>>()
    this.#waiting.push(waiting)
    return waiting.promise
  }

  return(): Promise<IteratorResult<AgentEvent>> {
    const wasOpen = !this.#closed
    this.#events.clear()
    this.close()
    if (wasOpen) this.#onLeave()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
