/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** At least 0 and below 1. */
  next(): number
  /** A whole number from 0 to below `bound`. */
  below(bound: number): number
  pick<Item>(items: readonly Item[]): Item
}

/** Mulberry32, of Tommy Ettinger: good enough to choose test data, and no more than that. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (bound: number): number => Math.floor(next() * bound)
  return { next, below, pick: (items) => items[below(items.length)] as (typeof items)[number] }
}
