/** A number of at least 0 and below 1. */
export type Random = () => number

/**
 * A stream of numbers that follows from its seed: mulberry32, by Tommy Ettinger (2017, public domain). Small and fast,
 * with a period of some four thousand million; good enough for simulations, not for secrets.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One of some items, of which there must be at least one. */
export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[below(random, items.length)] as Item
}

/** A whole number from 0 to below `bound`. */
export function below(random: Random, bound: number): number {
  return Math.floor(random() * bound)
}
