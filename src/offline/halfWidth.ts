/** How far the full-width forms (U+FF01 to U+FF5E) lie above their ASCII twins. */
const FULL_WIDTH_SHIFT = 0xfee0

/**
 * Full-width digits, letters, brackets and punctuation as ASCII. Every character keeps its position. Unlike NFKC it
 * leaves superscripts alone: 2² must not become 22.
 */
export function halfWidth(text: string): string {
  return text
    .replace(/[\uff01-\uff5e]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) - FULL_WIDTH_SHIFT))
    .replaceAll('\u3000', ' ')
}
