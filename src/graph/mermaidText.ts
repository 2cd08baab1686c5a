/**
 * Text that Mermaid shows as it is. Characters that mean something to Mermaid become their full-width twins, and the
 * two phrases that it takes for commands wherever they stand are joined.
 */
export function mermaidText(text: string): string {
  return text
    .replace(/[:;#"<>{}%`]/g, fullWidth)
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/(direction) (?=tb|bt|rl|lr)|(end) (?=note)/gi, (phrase) => `${phrase.trimEnd()}_`)
}

/** Hands out ids that Mermaid takes, each once. */
export class MermaidIds {
  readonly #taken = new Set<string>()

  claim(wanted: string): string {
    const plain = wanted.replace(/[^\p{L}\p{N}_]+/gu, '_')
    const id = plain === '' || reserved.test(plain) ? `${plain}_state` : plain
    let free = id
    for (let n = 2; this.#taken.has(free); n++) free = `${id}_${n}`
    this.#taken.add(free)
    return free
  }
}

/** Mermaid's keywords, the id of its outermost block, and the ids that it gives to `[*]`: `x_start` and `x_end`. */
const reserved =
  /^(?:accdescr|acctitle|as|class|classdef|click|default|direction|end|hide|href|note|root|scale|state|statediagram|style)$|_(?:start|end)$/i

const FULL_WIDTH_OFFSET = 0xfee0

function fullWidth(character: string): string {
  return String.fromCodePoint((character.codePointAt(0) ?? 0) + FULL_WIDTH_OFFSET)
}
