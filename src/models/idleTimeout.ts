import { ModelError } from './modelError.ts'

/**
 * Watches over a stream: `signal` is aborted when the caller's is, or when nothing has come for `idleMs`
 * milliseconds. A stream that stalls would otherwise hold its run for as long as the whole call may take.
 */
export class IdleTimeout {
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal
  readonly #idleMs: number
  readonly #abort = (): void => this.#controller.abort(this.#outer.reason)
  #timer: ReturnType<typeof setTimeout> | undefined
  #expired = false

  constructor(outer: AbortSignal, idleMs: number) {
    this.#outer = outer
    this.#idleMs = idleMs
    if (outer.aborted) this.#abort()
    else outer.addEventListener('abort', this.#abort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Something has come: the time begins anew. */
  touch(): void {
    if (this.#timer === undefined) this.#timer = setTimeout(() => this.#expire(), this.#idleMs)
    else this.#timer.refresh()
  }

  /** @throws ModelError `timeout` where the stream stalled: clients end a stream quietly when it is aborted. */
  throwIfExpired(): void {
    if (!this.#expired) return
    throw new ModelError('timeout', `The stream stalled: nothing came for ${this.#idleMs} ms.`, {
      retryable: true,
    })
  }

  dispose(): void {
    clearTimeout(this.#timer)
    this.#outer.removeEventListener('abort', this.#abort)
  }

  #expire(): void {
    this.#expired = true
    this.#controller.abort()
  }
}
