import type { Judgement, Reaction } from './judgement.ts'
import type { LimitLadder } from './ladder.ts'
import type { LimitName } from './limits.ts'

/** What a budget has left to do, in what it counts. */
interface Spending {
  readonly spent: number
  /** What the next request costs before a word of the answer has been written. */
  readonly nextInput: number
  /** What an answer may cost. */
  readonly nextOutput: number
  /** An amount in words, such as `1200 tokens`. */
  say(amount: number): string
}

/**
 * Judges a budget before it is overspent: the run concludes where one more step and the closing call would not fit any
 * more, and is aborted where already the request of the closing call would not.
 */
export function judgeBudget(
  limit: LimitName,
  ladder: LimitLadder,
  { spent, nextInput, nextOutput, say }: Spending,
): Judgement | undefined {
  const { warn, conclude, abort } = ladder
  const verdict = (reaction: Reaction, max: number, what: string): Judgement => ({
    limit,
    max,
    reaction,
    evidence: `${say(spent)} were spent, and ${what} ${say(max)}`,
    counted: { count: spent, max },
  })
  if (abort !== undefined && spent + nextInput > abort)
    return verdict('abort', abort, 'a closing answer would exceed')
  // Two requests and two replies, the first of which is part of the second request.
  if (conclude !== undefined && spent + 2 * nextInput + 3 * nextOutput > conclude) {
    return verdict('conclude', conclude, 'another step beside a closing answer could exceed')
  }
  return warn !== undefined && spent >= warn ? verdict('warn', warn, 'a warning was asked for at') : undefined
}
