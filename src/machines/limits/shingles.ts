import { scattered } from './fingerprint.ts'

/** Words of a shingle: short enough to survive rewording around it, long enough to mean something. */
const WIDTH = 3

/** How much of a text is looked at, in characters: its similarity is an estimate anyway. */
const LOOKED_AT = 20_000

/** The shingles of a text that belong to a sample. */
export interface Shingles {
  /** Words of the text; each Chinese or Japanese character is one. */
  readonly words: number
  /** Hashes of those shingles whose bits under `mask` are all zero. */
  readonly sample: ReadonlySet<number>
  /** Hashes of all those that hold one of the words that were looked for, in the sample or not. */
  readonly naming: ReadonlySet<number>
}

const nothing: ReadonlySet<number> = new Set()

/**
 * The shingles of a text: every run of three words, whatever stands between them and however they are capitalised.
 * Chinese and Japanese, which write no spaces, count by characters. A. Broder, "On the resemblance and containment of
 * documents" (1997), section 3: a fixed share of all hashes is a fair sample of any text.
 *
 * @param named Hashes of words to look for. Default: none.
 */
export function shinglesOf(text: string, mask: number, named: ReadonlySet<number> = nothing): Shingles {
  const sample = new Set<number>()
  const naming = new Set<number>()
  let words = 0
  let [before, previous] = [0, 0]
  readWords(text, (word) => {
    words++
    if (words >= WIDTH) {
      const shingle = scattered(Math.imul(Math.imul(before, 31) + previous, 31) + word)
      if ((shingle & mask) === 0) sample.add(shingle)
      if (named.has(before) || named.has(previous) || named.has(word)) naming.add(shingle)
    }
    before = previous
    previous = word
  })
  return { words, sample, naming }
}

/** Hashes of the words of a text. */
export function wordsOf(text: string): ReadonlySet<number> {
  const words = new Set<number>()
  readWords(text, (word) => words.add(word))
  return words
}

function readWords(text: string, found: (word: number) => void): void {
  let word = 0
  const end = Math.min(text.length, LOOKED_AT)
  const take = (): void => {
    if (word !== 0) found(word)
    word = 0
  }
  for (let i = 0; i < end; i++) {
    const code = text.charCodeAt(i)
    if (isIdeograph(code)) {
      take()
      word = scattered(code)
      take()
    } else if (isWordPart(code)) {
      word = Math.imul((word || 0x811c9dc5) ^ lowerCase(code), 0x01000193)
    } else {
      take()
    }
  }
  take()
}

/** Kana, and the ideographs of the Basic Multilingual Plane. */
function isIdeograph(code: number): boolean {
  return (code >= 0x3040 && code <= 0x30ff) || (code >= 0x3400 && code <= 0x9fff)
}

/** Letters and digits. Beyond ASCII everything but the punctuation of Chinese and the general one counts. */
function isWordPart(code: number): boolean {
  if (code < 0x80) return (code >= 48 && code <= 57) || ((code | 32) >= 97 && (code | 32) <= 122)
  return (
    code >= 0xc0 &&
    !(code >= 0x2000 && code <= 0x206f) &&
    !(code >= 0x3000 && code <= 0x303f) &&
    !isFullWidth(code)
  )
}

function isFullWidth(code: number): boolean {
  return code >= 0xff00 && code <= 0xff0f
}

function lowerCase(code: number): number {
  return code >= 65 && code <= 90 ? code | 32 : code
}
