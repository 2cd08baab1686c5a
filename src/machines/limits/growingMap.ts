/** The entries of one line of history, shared by all maps that are beginnings of it. */
class Log<Value> {
  readonly keys: number[] = []
  readonly values: Value[] = []
  /** Where the entry before stands that has the same key, -1 where there is none. */
  readonly earlier: number[] = []
  readonly #newest = new Map<number, number>()

  push(key: number, value: Value): void {
    this.earlier.push(this.#newest.get(key) ?? -1)
    this.#newest.set(key, this.keys.length)
    this.keys.push(key)
    this.values.push(value)
  }

  newest(key: number): number {
    return this.#newest.get(key) ?? -1
  }
}

/**
 * A map that is only ever added to, cheap to extend and safe to keep: like a `Transcript`, it is the beginning of a
 * shared log. Setting costs what is set, earlier maps still hold exactly their own entries, and setting in one that is
 * not the newest copies it first.
 */
export class GrowingMap<Value> {
  /** How often has been set in it. */
  readonly length: number
  readonly #log: Log<Value>

  private constructor(log: Log<Value>, length: number) {
    this.#log = log
    this.length = length
  }

  static empty<Value>(): GrowingMap<Value> {
    return new GrowingMap(new Log<Value>(), 0)
  }

  get(key: number): Value | undefined {
    let at = this.#log.newest(key)
    while (at >= this.length) at = this.#log.earlier[at] ?? -1
    return at < 0 ? undefined : this.#log.values[at]
  }

  has(key: number): boolean {
    return this.get(key) !== undefined
  }

  set(key: number, value: Value): GrowingMap<Value> {
    const log = this.#extensible()
    log.push(key, value)
    return new GrowingMap(log, log.keys.length)
  }

  /** Sets the same value for several keys. */
  setAll(keys: readonly number[], value: Value): GrowingMap<Value> {
    if (keys.length === 0) return this
    const log = this.#extensible()
    for (const key of keys) log.push(key, value)
    return new GrowingMap(log, log.keys.length)
  }

  /** The keys in the order in which they were set. */
  keys(): readonly number[] {
    return this.#log.keys.slice(0, this.length)
  }

  #extensible(): Log<Value> {
    // The empty map is shared by all runs: what is set in it must not stay with it.
    if (this.length > 0 && this.#log.keys.length === this.length) return this.#log
    const log = new Log<Value>()
    for (let i = 0; i < this.length; i++) log.push(this.#log.keys[i] as number, this.#log.values[i] as Value)
    return log
  }
}
