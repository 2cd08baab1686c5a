/**
 * Unicode's White_Space, which is what `\s` means in tiktoken, the reference. JavaScript's lacks U+0085 and has U+FEFF.
 * https://www.unicode.org/Public/UCD/latest/ucd/PropList.txt
 */
const WHITE_SPACE = String.raw`\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`

/** An escape, or any other character, of the source of a pattern. */
const STEP = /\\.|[^\\]/gsu

/**
 * The regular expression that cuts a text into pieces, each of which is encoded by itself. It is sticky: it matches
 * where `lastIndex` is, and it always matches, because every character belongs to some piece.
 *
 * @param source js-tiktoken's `pat_str`
 */
export function splitPattern(source: string): RegExp {
  let inClass = false
  const exact = source.replace(STEP, (step) => {
    if (step === '[') inClass = true
    if (step === ']') inClass = false
    if (step === String.raw`\s`) return inClass ? WHITE_SPACE : `[${WHITE_SPACE}]`
    if (step === String.raw`\S`) return `[^${WHITE_SPACE}]`
    return step
  })
  return new RegExp(withLongS(exact), 'uy')
}

/** The reference looks for `'s` in any case, and by Unicode's rules ſ (U+017F) is an s. js-tiktoken's pattern lacks it. */
function withLongS(pattern: string): string {
  return pattern.replaceAll("'S|", "'S|'\u017f|")
}
