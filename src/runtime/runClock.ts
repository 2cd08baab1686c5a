/**
 * How long a run has been under way, by the times that its journal tells: a replay comes to the same. The time in which
 * a run waits for nothing but a person does not count, so that an approval that takes a day does not use it up. It never
 * goes back, whatever the clock of the machine does.
 */
export class RunClock {
  readonly #startedAt: number
  #lastAt: number
  #waitedMs = 0
  #elapsedMs = 0

  /** @param startedAt Milliseconds since 1970. */
  constructor(startedAt: number) {
    this.#startedAt = startedAt
    this.#lastAt = startedAt
  }

  /** Takes note of something that happened at a time. Gives back how long the run had been under way. */
  tick(at: number, hasWaited: boolean): number {
    if (hasWaited) this.#waitedMs += Math.max(0, at - this.#lastAt)
    this.#lastAt = at
    this.#elapsedMs = Math.max(this.#elapsedMs, at - this.#startedAt - this.#waitedMs)
    return this.#elapsedMs
  }

  /** How long the run has been under way at a time, if it does not wait. */
  elapsedAt(at: number): number {
    return Math.max(this.#elapsedMs, at - this.#startedAt - this.#waitedMs)
  }
}
