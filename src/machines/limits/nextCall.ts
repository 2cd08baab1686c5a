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
  { reply, transcript }: AgentContext,
  budget: number,
): { readonly inputTokens: number; readonly outputTokens: number } {
  const { inputTokens, outputTokens } = reply?.usage ?? noUsage
  return {
    inputTokens: inputTokens + outputTokens + sinceLastReply(transcript) + NOTE,
    outputTokens: Math.max(outputTokens, Math.min(ANSWER_RESERVE, budget * ANSWER_RESERVE_SHARE)),
  }
}

/** Tokens of the messages that have come since the model spoke, estimated. */
function sinceLastReply(transcript: Transcript): number {
  let tokens = 0
  for (let i = transcript.length - 1; i >= 0; i--) {
    const message = transcript.at(i)
    if (message === undefined || message.role === 'assistant') break
    tokens += MESSAGE_FORM
    if (typeof message.content === 'string') tokens += estimateTokens(message.content)
  }
  return tokens
}
