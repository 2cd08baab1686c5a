import { ModelError } from '../models/modelError.ts'

/**
 * How long a provider is waited for. `signal` is aborted when the caller's is, or when what is waited for takes too
 * long. Providers have no timeouts of their own, and some do not listen to their signal: `over` rejects all the same.
 */
export class Patience {
  /** Rejects with the signal's reason when that is aborted. */
  readonly over: Promise<never>
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal
  readonly #abort = (): void => this.#controller.abort(this.#outer.reason)
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(outer: AbortSignal) {
    this.#outer = outer
    const { promise, reject } = Promise.withResolvers<never>()
    this.over = promise
    // Nobody may be waiting when it is over.
    promise.catch(() => {})
    this.signal.addEventListener('abort', () => reject(this.signal.reason), { once: true })
    if (outer.aborted) this.#abort()
    else outer.addEventListener('abort', this.#abort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** From now on, `ms` milliseconds are waited. */
  wait(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#controller.abort(
        new ModelError('timeout', `Nothing came from the model for ${ms} ms.`, { retryable: true }),
      )
    }, ms)
  }

  dispose(): void {
    clearTimeout(this.#timer)
    this.#outer.removeEventListener('abort', this.#abort)
  }
}
