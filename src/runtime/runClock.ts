/**
 * How long a run has been under way, by the times that its journal tells: a replay comes to the same. The time in which
 * a run waits for nothing but a person does not count, so that an approval that takes a day does not use it up. It never
 * goes back, whatever the clock of the machine does.
 */
export class RunClock {
  readonly #startedAt: number
  #lastAt: number
  #waitedMs = 0
  #isHandedBack = false
  #elapsedMs = 0

  /** @param startedAt Milliseconds since 1970. */
  constructor(startedAt: number) {
    this.#startedAt = startedAt
    this.#lastAt = startedAt
  }

  /** The run was handed back until a person decides: from now on it waits, whatever is left to do. */
  handBack(at: number, hasWaited: boolean): void {
    this.tick(at, hasWaited)
    this.#isHandedBack = true
  }

  /** Somebody has taken the run up again. */
  goOn(at: number, hasWaited: boolean): void {
    this.tick(at, hasWaited)
    this.#isHandedBack = false
  }

  /** Takes note of something that happened at a time. Gives back how long the run had been under way. */
  tick(at: number, hasWaited: boolean): number {
    if (hasWaited || this.#isHandedBack) this.#waitedMs += Math.max(0, at - this.#lastAt)
    this.#lastAt = at
    this.#elapsedMs = Math.max(this.#elapsedMs, at - this.#startedAt - this.#waitedMs)
    return this.#elapsedMs
  }

  /** How long the run has been under way at a time, if it has not waited since the last tick, or was handed back. */
  elapsedAt(at: number): number {
    if (this.#isHandedBack) return this.#elapsedMs
    return Math.max(this.#elapsedMs, at - this.#startedAt - this.#waitedMs)
  }
}
