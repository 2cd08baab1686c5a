/** Counts the tokens of texts. Pure: the same text always has the same number. Never throws. */
export interface TokenCounter {
  count(text: string): number
  /** A bound that `count` never exceeds, where one is cheaper than counting (byte-level encodings: UTF-8 bytes). */
  atMost?(text: string): number
}
