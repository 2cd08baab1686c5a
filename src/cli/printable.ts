/**
 * Text of a model, a tool or a server as a terminal may show it: control characters, which could clear the screen,
 * rename the window or hide what is there, become visible; so do marks that reverse the direction of writing. Line
 * breaks and tabs stay.
 */
export function printable(text: string): string {
  return text.replace(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The same on one line. */
export function printableLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ').trim())
}

/** Control characters (Unicode category Cc) but for tab and line feed, and the marks of bidirectional writing. */
const UNPRINTABLE = /(?![\t\n])\p{Cc}|\p{Bidi_Control}/gu
