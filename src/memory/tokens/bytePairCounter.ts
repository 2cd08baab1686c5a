import type { TiktokenBPE } from 'js-tiktoken/lite'
import { mergeByQueue } from './mergeByQueue.ts'
import { LONGEST_SCANNED, mergeByScan } from './mergeByScan.ts'
import { splitPattern } from './splitPattern.ts'
import type { TokenCounter } from './tokenCounter.ts'
import { BYTES_PER_UNIT, writeUtf8 } from './utf8.ts'
import { NO_RANK, Vocabulary } from './vocabulary.ts'

/**
 * UTF-16 units that are counted in one go. A longer text is counted in parts, which may add a token or two at each
 * cut: V8's regular expressions run out of stack where one piece of text has some million characters.
 */
const LONGEST_PART = 2 ** 20

/** Longer pieces are rare, and get an array of their own. */
const SCRATCH_BYTES = 4096

/**
 * Counts the tokens of a byte-level encoding: a pattern cuts the text into pieces, and byte pair encoding makes tokens
 * of the bytes of each. Time is linear in the length of the text, but for the logarithm of the longest piece.
 */
export class BytePairCounter implements TokenCounter {
  readonly #vocabulary: Vocabulary
  readonly #pattern: RegExp
  readonly #scratch = new Uint8Array(SCRATCH_BYTES)

  /** @param encoding Ranks and pattern, as js-tiktoken has them. */
  constructor({ bpe_ranks: ranks, pat_str: pattern }: TiktokenBPE) {
    this.#vocabulary = new Vocabulary(ranks)
    this.#pattern = splitPattern(pattern)
  }

  count(text: string): number {
    let tokens = 0
    for (let from = 0; from < text.length; from += LONGEST_PART) {
      tokens += this.#countPart(text.slice(from, from + LONGEST_PART))
    }
    return tokens
  }

  #countPart(text: string): number {
    const pattern = this.#pattern
    let tokens = 0
    pattern.lastIndex = 0
    for (let from = 0; from < text.length && pattern.test(text); from = pattern.lastIndex) {
      tokens += this.#countPiece(text, from, pattern.lastIndex)
    }
    return tokens
  }

  #countPiece(text: string, from: number, to: number): number {
    const room = (to - from) * BYTES_PER_UNIT
    const bytes = room <= SCRATCH_BYTES ? this.#scratch : new Uint8Array(room)
    const length = writeUtf8(text, from, to, bytes)
    if (this.#vocabulary.rankOf(bytes, 0, length) !== NO_RANK) return 1
    const merge = length <= LONGEST_SCANNED ? mergeByScan : mergeByQueue
    return merge(this.#vocabulary, bytes, length)
  }
}
