import type { Environment } from '../../environment.ts'

interface Timer {
  readonly due: number
  readonly callback: () => void
}

/** Time that passes only when it is told to, and chance that somebody else decides. */
export class VirtualEnvironment implements Environment {
  readonly #random: () => number
  readonly #timers = new Set<Timer>()
  #now: number

  /**
   * @param random Default: always one half.
   * @param now Where time begins. Default: 0.
   */
  constructor(random: () => number = () => 0.5, now = 0) {
    this.#random = random
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  wallNow(): number {
    return this.#now
  }

  after(ms: number, callback: () => void): () => void {
    const timer: Timer = { due: this.#now + Math.max(0, ms), callback }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  random(): number {
    return this.#random()
  }

  /** How many timers are running. */
  get timers(): number {
    return this.#timers.size
  }

  /** Lets time pass to the next timer and calls it; of several that are due together, the oldest. */
  advance(): void {
    let next: Timer | undefined
    for (const timer of this.#timers) if (next === undefined || timer.due < next.due) next = timer
    if (next === undefined) return
    this.#timers.delete(next)
    this.#now = Math.max(this.#now, next.due)
    next.callback()
  }
}
