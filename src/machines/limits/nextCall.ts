import { estimateTokens } from '../../messages/estimateTokens.ts'
import { noUsage } from '../../messages/reply.ts'
import type { Transcript } from '../../messages/transcript.ts'
import type { AgentContext } from '../context.ts'

/** What is kept for the text of an answer, unless the model writes longer ones. Tokens. */
const ANSWER_RESERVE = 500

/** The most of a budget that is kept for it. */
const ANSWER_RESERVE_SHARE = 0.1

/** What the form of a message takes beside its text, and what a note to the model takes. Tokens, generous. */
const MESSAGE_FORM = 10
const NOTE = 100

/** Tokens that the next request will take: what the last one took, with what has come since. */
export function nextInput({ transcript, measured }: AgentContext): number {
  return measured.tokens + estimatedFrom(transcript, measured.messages) + NOTE
}

/**
 * What is kept of a budget for the next answer, in what the budget counts.
 *
 * @param spend What so many tokens of an answer take of the budget.
 */
export function nextOutput(
  { reply }: AgentContext,
  budget: number,
  spend: (outputTokens: number) => number,
): number {
  const { outputTokens } = reply?.usage ?? noUsage
  return Math.max(spend(outputTokens), Math.min(spend(ANSWER_RESERVE), budget * ANSWER_RESERVE_SHARE))
}

/** Tokens of the messages from this position on, estimated. */
function estimatedFrom(transcript: Transcript, from: number): number {
  let tokens = 0
  for (let i = from; i < transcript.length; i++) {
    const content = transcript.at(i)?.content
    tokens += MESSAGE_FORM
    if (typeof content === 'string') tokens += estimateTokens(content)
  }
  return tokens
}
