import { GrowingMap } from './growingMap.ts'
import { type Shingles, shinglesOf } from './shingles.ts'

/** The most shingles that are kept. Beyond that every second hash is forgotten, and only its half sampled from then on. */
const MOST_SHINGLES = 2048

/** Fewer shingles than this say nothing about a text. */
const FEWEST_SHINGLES = 8

/**
 * A bounded memory of texts that can tell how much of another text it has seen: a fair sample of their shingles, which
 * gets thinner as they become more.
 */
export class Sketch {
  static readonly empty: Sketch = new Sketch(GrowingMap.empty(), 0)
  readonly #seen: GrowingMap<true>
  /** Only hashes whose bits under it are all zero are kept: 0 keeps all, 1 a half, 3 a quarter. */
  readonly #mask: number

  private constructor(seen: GrowingMap<true>, mask: number) {
    this.#seen = seen
    this.#mask = mask
  }

  /** How many shingles it holds. */
  get size(): number {
    return this.#seen.length
  }

  /**
   * A text as this sketch compares and keeps it.
   *
   * @param named Hashes of words to look for. Default: none.
   */
  read(text: string, named?: ReadonlySet<number>): Shingles {
    return shinglesOf(text, this.#mask, named)
  }

  /**
   * Whether a word that was looked for stands in a shingle that is not known to have been seen. In doubt it does: what
   * is not in the sample is not known.
   */
  namesNew({ naming }: Shingles): boolean {
    for (const shingle of naming) if (!this.#seen.has(shingle)) return true
    return false
  }

  /**
   * The share of a text's shingles that has been seen, from 0 to 1: Broder's containment of the text in all the
   * others. Undefined where there are too few of them to say.
   */
  containmentOf({ sample }: Shingles): number | undefined {
    if (sample.size < FEWEST_SHINGLES) return undefined
    let seen = 0
    for (const shingle of sample) if (this.#seen.has(shingle)) seen++
    return seen / sample.size
  }

  with({ sample }: Shingles): Sketch {
    let mask = this.#mask
    let seen = this.#seen
    let added = [...sample].filter((shingle) => !seen.has(shingle))
    while (seen.length + added.length > MOST_SHINGLES) {
      mask = mask * 2 + 1
      const isSampled = (shingle: number): boolean => (shingle & mask) === 0
      seen = GrowingMap.empty<true>().setAll(seen.keys().filter(isSampled), true)
      added = added.filter(isSampled)
    }
    return new Sketch(seen.setAll(added, true), mask)
  }
}
