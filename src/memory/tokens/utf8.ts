/** Bytes that a UTF-16 unit takes at most. */
export const BYTES_PER_UNIT = 3

/** What stands for half of a surrogate pair that lost its other half, as in `TextEncoder`. */
const REPLACEMENT = 0xfffd

/**
 * Writes the UTF-8 bytes of the text from `from` up to `to`, and returns how many there are. `TextEncoder` would want
 * a string of its own for each piece of text, and a call out of JavaScript.
 */
export function writeUtf8(text: string, from: number, to: number, bytes: Uint8Array): number {
  let end = 0
  for (let i = from; i < to; i++) {
    let code = text.charCodeAt(i)
    if (code < 0x80) {
      bytes[end++] = code
      continue
    }
    if (code < 0x800) {
      bytes[end++] = 0xc0 | (code >> 6)
      bytes[end++] = 0x80 | (code & 0x3f)
      continue
    }
    if (code >= 0xd800 && code < 0xe000) {
      const low = code < 0xdc00 && i + 1 < to ? text.charCodeAt(i + 1) : 0
      if (low >= 0xdc00 && low < 0xe000) {
        i++
        code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00)
        bytes[end++] = 0xf0 | (code >> 18)
        bytes[end++] = 0x80 | ((code >> 12) & 0x3f)
        bytes[end++] = 0x80 | ((code >> 6) & 0x3f)
        bytes[end++] = 0x80 | (code & 0x3f)
        continue
      }
      code = REPLACEMENT
    }
    bytes[end++] = 0xe0 | (code >> 12)
    bytes[end++] = 0x80 | ((code >> 6) & 0x3f)
    bytes[end++] = 0x80 | (code & 0x3f)
  }
  return end
}
