import { NO_RANK, type Vocabulary } from './vocabulary.ts'

/** Ranks stand above positions in a key: the lowest key is the lowest rank, and the leftmost of equals. */
const POSITIONS = 2 ** 32

/**
 * As `mergeByScan`, but pairs wait in a priority queue, so that no text takes quadratic time. A part is known by the
 * position of its first byte.
 */
export function mergeByQueue(vocabulary: Vocabulary, bytes: Uint8Array, length: number): number {
  const next = new Int32Array(length + 1)
  const previous = new Int32Array(length + 1)
  for (let i = 0; i <= length; i++) {
    next[i] = i + 1
    previous[i] = i - 1
  }
  /** The rank of each part together with the next one. What the queue says otherwise is out of date. */
  const ranks = new Int32Array(length).fill(NO_RANK)
  const queue = new LowestFirst(length)

  const judge = (at: number): void => {
    const second = next[at] ?? length
    const rank = second < length ? vocabulary.rankOf(bytes, at, next[second] ?? length) : NO_RANK
    ranks[at] = rank
    if (rank !== NO_RANK) queue.push(rank * POSITIONS + at)
  }

  for (let at = 0; at + 1 < length; at++) judge(at)
  let parts = length
  while (queue.size > 0) {
    const key = queue.pop()
    const rank = Math.floor(key / POSITIONS)
    const at = key - rank * POSITIONS
    if (ranks[at] !== rank) continue
    const joined = next[at] ?? length
    const after = next[joined] ?? length
    ranks[joined] = NO_RANK
    next[at] = after
    previous[after] = at
    parts--
    judge(at)
    const before = previous[at] ?? -1
    if (before >= 0) judge(before)
  }
  return parts
}

/** A binary heap of numbers. */
class LowestFirst {
  readonly #keys: Float64Array
  size = 0

  /** @param parts Each of them pushes once, and each merge of two of them twice after it was popped. */
  constructor(parts: number) {
    this.#keys = new Float64Array(2 * parts)
  }

  push(key: number): void {
    const keys = this.#keys
    let at = this.size++
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = keys[parent] ?? 0
      if (above <= key) break
      keys[at] = above
      at = parent
    }
    keys[at] = key
  }

  pop(): number {
    const keys = this.#keys
    const lowest = keys[0] ?? 0
    const key = keys[--this.size] ?? 0
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= this.size) break
      if (child + 1 < this.size && (keys[child + 1] ?? 0) < (keys[child] ?? 0)) child++
      if ((keys[child] ?? 0) >= key) break
      keys[at] = keys[child] ?? 0
      at = child
    }
    keys[at] = key
    return lowest
  }
}
