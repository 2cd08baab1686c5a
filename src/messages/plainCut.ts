/** How far around a cut is looked, in UTF-16 units: longer than any character that people write. */
const WINDOW = 64

const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/**
 * The beginning of a text, at most `length` UTF-16 units of it. No surrogate pair, no CRLF and no character made of
 * several code points is cut in half.
 */
export function headOf(text: string, length: number): string {
  return text.slice(0, cutPoint(text, length).before)
}

/** The end of a text, at most `length` UTF-16 units of it, cut as `headOf` cuts. */
export function tailOf(text: string, length: number): string {
  return text.slice(cutPoint(text, text.length - length).after)
}

/**
 * The nearest places before and after `at` where the text can be cut: `at` itself where it is one. A surrogate that the
 * window's edge parts from its other half is a character of its own, so no pair is cut there.
 */
function cutPoint(text: string, at: number): { readonly before: number; readonly after: number } {
  if (at <= 0) return { before: 0, after: 0 }
  if (at >= text.length) return { before: text.length, after: text.length }
  const from = Math.max(0, at - WINDOW)
  const found = characters.segment(text.slice(from, at + WINDOW)).containing(at - from)
  if (found === undefined) return { before: at, after: at }
  const before = from + found.index
  return before === at ? { before, after: at } : { before, after: before + found.segment.length }
}
