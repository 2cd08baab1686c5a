/**
 * Data as the page may show it: control characters and the marks that reverse the direction of writing, which could make a
 * call look like another one, become visible. Line breaks and tabs stay.
 */
export function printable(text: string): string {
  return text
    .toWellFormed()
    .replace(UNPRINTABLE, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The same on one line, cut off after so many characters. */
export function printableLine(text: string, most = 300): string {
  // Cut before the rest is looked at: a result may have megabytes.
  const line = text
    .slice(0, 2 * most)
    .replace(/\s+/g, ' ')
    .trim()
  const isCut = line.length > most || text.length > 2 * most
  return printable(isCut ? `${line.slice(0, most)}…` : line)
}

/** Control characters (Unicode category Cc) but for tab and line feed, and the marks of bidirectional writing. */
const UNPRINTABLE = /(?![\t\n])\p{Cc}|\p{Bidi_Control}/gu

/** JSON text, indented; anything else as it is. */
export function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}
