import { estimateTokens } from '../messages/estimateTokens.ts'
import { headOf, tailOf } from './plainCut.ts'

/** How much of what is kept stands before the gap: the beginning of a result mostly says what the rest is. */
const HEAD_SHARE = 2 / 3

/** The search for the longest text that fits ends when it is known to within this share. */
const PRECISION = 1 / 64

/**
 * A text of at most `maxTokens` tokens: head and tail are kept, and a note between them says how much is left out. A
 * text that fits comes back as it is. The result is never longer than the text, well-formed, and fits when it is
 * capped again. Where there is no room for the note, an ellipsis stands for it.
 *
 * @param countTokens Must not count fewer tokens for a longer piece of the same text. Default: `estimateTokens`.
 */
export function capText(
  text: string,
  maxTokens: number,
  countTokens: (text: string) => number = estimateTokens,
): string {
  const whole = text.toWellFormed()
  if (countTokens(whole) <= maxTokens) return whole
  const fits = (candidate: string): boolean =>
    candidate.length <= whole.length && countTokens(candidate) <= maxTokens
  const gap = [countedGap, ellipsis].find((marker) => fits(withGap(whole, 0, marker)))
  return gap === undefined ? '' : longestThatFits(whole, gap, fits)
}

/** What stands between head and tail. */
type Gap = (leftOut: number, total: number) => string

const countedGap: Gap = (leftOut, total) =>
  `\n… (${leftOut} of ${total} characters left out; ask for less, or for a part) …\n`

const ellipsis: Gap = () => '…'

function longestThatFits(text: string, gap: Gap, fits: (candidate: string) => boolean): string {
  let best = withGap(text, 0, gap)
  let fitting = 0
  let tooLong = text.length
  while (tooLong - fitting > Math.max(1, fitting * PRECISION)) {
    const kept = Math.floor((fitting + tooLong) / 2)
    const candidate = withGap(text, kept, gap)
    if (fits(candidate)) {
      best = candidate
      fitting = kept
    } else tooLong = kept
  }
  return best
}

function withGap(text: string, kept: number, gap: Gap): string {
  const forHead = Math.ceil(kept * HEAD_SHARE)
  const head = headOf(text, forHead)
  const tail = tailOf(text, kept - forHead)
  return head + gap(text.length - head.length - tail.length, text.length) + tail
}
