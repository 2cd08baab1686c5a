/** Lets one after the other through, in the order in which they came. */
export class Turnstile {
  #last: Promise<unknown> = Promise.resolve()
  #inside = 0

  get isBusy(): boolean {
    return this.#inside > 0
  }

  /** Waits for those who came before. @returns The function to call on leaving. */
  async enter(): Promise<() => void> {
    this.#inside++
    const before = this.#last
    const left = Promise.withResolvers<void>()
    this.#last = left.promise
    await before
    return () => {
      this.#inside--
      left.resolve()
    }
  }
}
