/** The rank of what is no token: above every rank that there is. */
export const NO_RANK = 0x7fff_ffff

/**
 * The tokens of a byte-level encoding and their ranks, found by their bytes.
 *
 * It is a hash table with open addressing, over typed arrays: a `Map` of 200,000 strings takes longer to build, several
 * times the memory, and a new string for each question.
 */
export class Vocabulary {
  /** All tokens, one after the other. */
  readonly #bytes: Uint8Array
  /** Where in `#bytes` the token of each rank begins, and where the last one ends. */
  readonly #starts: Int32Array
  /** Rank + 1 of the token in each slot, 0 where a slot is empty. */
  readonly #slots: Int32Array
  readonly #longest: number

  /** @param ranks js-tiktoken's `bpe_ranks`: lines of `! offset token token …`, ranks ascending, tokens in base64. */
  constructor(ranks: string) {
    const { bytes, starts } = decodeTokens(ranks)
    this.#bytes = bytes
    this.#starts = starts
    // At most half full, so that a search soon meets an empty slot.
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(starts.length * 2)))
    let longest = 0
    for (let rank = 0; rank + 1 < starts.length; rank++) {
      const from = starts[rank] ?? 0
      const to = starts[rank + 1] ?? 0
      longest = Math.max(longest, to - from)
      let slot = this.#slotOf(bytes, from, to)
      while (this.#slots[slot] !== 0) slot = this.#slotAfter(slot)
      this.#slots[slot] = rank + 1
    }
    this.#longest = longest
  }

  /** The rank of the token that consists of the bytes from `from` up to `to`, `NO_RANK` where there is none. */
  rankOf(bytes: Uint8Array, from: number, to: number): number {
    if (to - from > this.#longest) return NO_RANK
    for (let slot = this.#slotOf(bytes, from, to); ; slot = this.#slotAfter(slot)) {
      const rank = (this.#slots[slot] ?? 0) - 1
      if (rank < 0) return NO_RANK
      if (this.#consistsOf(rank, bytes, from, to)) return rank
    }
  }

  /** FNV-1a, folded. http://www.isthe.com/chongo/tech/comp/fnv/ */
  #slotOf(bytes: Uint8Array, from: number, to: number): number {
    let hash = 0x811c_9dc5
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x0100_0193)
    return (hash ^ (hash >>> 15)) & (this.#slots.length - 1)
  }

  #slotAfter(slot: number): number {
    return (slot + 1) & (this.#slots.length - 1)
  }

  #consistsOf(rank: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = this.#starts[rank] ?? 0
    if ((this.#starts[rank + 1] ?? 0) - start !== to - from) return false
    for (let i = 0; i < to - from; i++) if (this.#bytes[start + i] !== bytes[from + i]) return false
    return true
  }
}

const SPACE = 0x20
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** In one pass over the text: a call out of JavaScript for each of 200,000 tokens takes longer than all the rest. */
function decodeTokens(ranks: string): { readonly bytes: Uint8Array; readonly starts: Int32Array } {
  const digits = new Map(Array.from(BASE64, (digit, value) => [digit.charCodeAt(0), value]))
  const sextets = Int8Array.from({ length: 128 }, (_, code) => digits.get(code) ?? -1)
  const tokens = ranks.replace(/^! \d+ /gm, '').trim()
  const bytes = new Uint8Array(tokens.length)
  const starts = [0]
  let end = 0
  let bits = 0
  let bitCount = 0
  for (let i = 0; i < tokens.length; i++) {
    const code = tokens.charCodeAt(i)
    const sextet = sextets[code] ?? -1
    if (code <= SPACE) {
      starts.push(end)
      bitCount = 0
    } else if (sextet >= 0) {
      bits = (bits << 6) | sextet
      bitCount += 6
      if (bitCount >= 8) {
        bitCount -= 8
        bytes[end++] = bits >> bitCount
      }
    }
  }
  starts.push(end)
  return { bytes: bytes.slice(0, end), starts: Int32Array.from(starts) }
}
