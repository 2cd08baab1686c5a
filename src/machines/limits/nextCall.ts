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

/** Tokens that the next model call will take: what the last one took, with what has come since. */
export function nextCall(
  { reply, transcript, measured }: AgentContext,
  budget: number,
): { readonly inputTokens: number; readonly outputTokens: number } {
  const { outputTokens } = reply?.usage ?? noUsage
  return {
    inputTokens: measured.tokens + estimatedFrom(transcript, measured.messages) + NOTE,
    outputTokens: Math.max(outputTokens, Math.min(ANSWER_RESERVE, budget * ANSWER_RESERVE_SHARE)),
  }
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
