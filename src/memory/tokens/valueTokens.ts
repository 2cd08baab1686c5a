import { IMAGE_TOKENS } from './mediaTokens.ts'

/** Counts a text, or bounds its count. */
export type CountText = (text: string) => number

/** How much of a text is looked at to tell whether it is text. */
const SAMPLE = 256

/** Base64, by itself or in a `data:` URL. No language has words of that length. */
const BINARY = /^(?:data:[^,]{0,200},)?[\w+/=-]{256}/

const BINARY_CHARS_PER_TOKEN = 4

/**
 * Tokens of a value of which nothing is known, as JSON text, or of the text that it is. What is not there, is empty or
 * cannot be written as JSON costs nothing, because a request cannot carry it.
 *
 * Base64 in it is no text to a model. It is taken for an image, or where it is short, for a token in four characters.
 */
export function valueTokens(value: unknown, countText: CountText): number {
  if (value === undefined || value === null) return 0
  if (typeof value === 'string') return isBinary(value) ? binaryTokens(value) : countText(value)
  let binaries = 0
  const withoutBinaries = (_key: string, entry: unknown): unknown => {
    if (typeof entry !== 'string' || !isBinary(entry)) return entry
    binaries += binaryTokens(entry)
    return ''
  }
  try {
    const json = JSON.stringify(value, withoutBinaries) ?? ''
    return binaries + (json === '[]' || json === '{}' ? 0 : countText(json))
  } catch {
    return 0
  }
}

function isBinary(text: string): boolean {
  return text.length >= SAMPLE && BINARY.test(text)
}

function binaryTokens({ length }: string): number {
  return Math.min(Math.ceil(length / BINARY_CHARS_PER_TOKEN), IMAGE_TOKENS)
}
