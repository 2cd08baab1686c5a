/** Lets a number of callers in at once; the others wait in the order in which they came. */
export class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Waits for a place. Rejects with the signal's reason when that is aborted first. Call what comes back to leave. */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free--
    else await this.#turn(signal)
    let left = false
    return () => {
      if (left) return
      left = true
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const come = (): void => {
        signal.removeEventListener('abort', give)
        resolve()
      }
      const give = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(come), 1)
        reject(signal.reason)
      }
      this.#waiting.push(come)
      signal.addEventListener('abort', give, { once: true })
    })
  }
}
