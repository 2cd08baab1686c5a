/** A string of Graphviz's language. */
export function dotString(text: string): string {
  return `"${plainText(text).replace(/[\\"]/g, '\\$&')}"`
}

/** A line of a label as it is, within quotes: backslashes and entities mean something to Graphviz there. */
export function labelText(text: string): string {
  return plainText(text)
    .replace(/[\\"]/g, '\\$&')
    .replace(/&/g, '&amp;')
    .replace(/[\n\r\t]+/g, ' ')
}

/** Text in one of the labels that Graphviz calls HTML-like. Backslashes mean something in them too. */
export function htmlLabelText(text: string): string {
  return xmlText(text.replaceAll('\\', '\\\\'))
}

/** Text in XML, as it is, whatever it says. */
export function xmlText(text: string): string {
  return plainText(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/**
 * Breaks text into lines.
 *
 * @param width In Latin letters. Only a word that is longer makes a longer line.
 */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const piece of text.trim().match(pieces) ?? []) {
    if (line !== '' && widthOf(line + piece.trimEnd()) > width) {
      lines.push(line.trimEnd())
      line = ''
    }
    line += piece
  }
  return line === '' ? lines : [...lines, line.trimEnd()]
}

/** Breaks a name such as `contextOverBudget` at its humps where the pieces are long enough to be read as words. */
export function brokenName(name: string): readonly string[] {
  return name.replace(/(\p{Ll}{4})(?=\p{Lu})/gu, '$1\n').split('\n')
}

/** Ids that mean themselves in every language that a drawing goes through, each given once. */
export class DrawingIds {
  readonly #taken = new Set<string>()

  /** `edge_parsing_always_hasCalls_executingTools` */
  claim(...words: readonly string[]): string {
    const id = words.map((word) => word.replace(/[^\p{L}\p{N}]+/gu, '_')).join('_')
    let free = id
    for (let n = 2; this.#taken.has(free); n++) free = `${id}_${n}`
    this.#taken.add(free)
    return free
  }
}

/** Without what XML has no way to write. */
function plainText(text: string): string {
  return text.toWellFormed().replace(notInXml, '\ufffd')
}

function widthOf(text: string): number {
  return text.length + (text.match(wide)?.length ?? 0)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that XML has no way to write.
const notInXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

/** Signs as wide as they are high, between which a line may break. */
const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu

/** What is not broken: a word with the space after it, a wide sign with the punctuation after it. */
const pieces =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}][\u3000-\u303f\uff01-\uff60]*\s*|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+\s*/gu
