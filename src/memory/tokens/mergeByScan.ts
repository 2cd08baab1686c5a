import { NO_RANK, type Vocabulary } from './vocabulary.ts'

/** The longest piece that is merged by scanning, in bytes. Beyond it the queue is faster. */
export const LONGEST_SCANNED = 128

/** Where each part of the piece begins, and after the last one, where it ends. */
const starts = new Int32Array(LONGEST_SCANNED + 1)
/** The rank of each part together with the next one. */
const ranks = new Int32Array(LONGEST_SCANNED)

/**
 * How many tokens byte pair encoding makes of the first `length` bytes: the pair of lowest rank is joined, the leftmost
 * of equals first, until no pair is a token. Each time all pairs are looked through, which takes quadratic time.
 *
 * Byte pair encoding: Sennrich, Haddow, Birch, "Neural Machine Translation of Rare Words with Subword Units", 2016.
 */
export function mergeByScan(vocabulary: Vocabulary, bytes: Uint8Array, length: number): number {
  for (let i = 0; i <= length; i++) starts[i] = i
  for (let i = 0; i + 1 < length; i++) ranks[i] = vocabulary.rankOf(bytes, i, i + 2)
  let parts = length
  for (;;) {
    let lowest = NO_RANK
    let at = 0
    for (let i = 0; i + 1 < parts; i++) {
      const rank = ranks[i] ?? NO_RANK
      if (rank < lowest) {
        lowest = rank
        at = i
      }
    }
    if (lowest === NO_RANK) return parts
    for (let i = at + 1; i < parts; i++) starts[i] = starts[i + 1] ?? 0
    for (let i = at; i + 1 < parts; i++) ranks[i] = ranks[i + 1] ?? NO_RANK
    parts--
    if (at + 1 < parts) ranks[at] = vocabulary.rankOf(bytes, starts[at] ?? 0, starts[at + 2] ?? 0)
    if (at > 0) ranks[at - 1] = vocabulary.rankOf(bytes, starts[at - 1] ?? 0, starts[at + 1] ?? 0)
  }
}
