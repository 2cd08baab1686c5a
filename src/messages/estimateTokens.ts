/** ASCII characters to a token, on average over English text and JSON. */
const ASCII_PER_TOKEN = 4

const LAST_ASCII = 0x7f

/**
 * Tokens of a text, estimated: four ASCII characters make one, and each other UTF-16 unit counts as one. English and
 * JSON come out about right; Chinese, Japanese and Korean are not underestimated.
 */
export function estimateTokens(text: string): number {
  let others = 0
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > LAST_ASCII) others++
  return Math.ceil((text.length - others) / ASCII_PER_TOKEN) + others
}
