import type { ModelReply, Usage } from './reply.ts'
import type { Message, ToolSpec } from './types.ts'

/** UTF-8 bytes to a token, on average over English text and JSON; for providers that report no usage. */
const BYTES_PER_TOKEN = 4

/** Usage that is missing or zero would let every budget pass, so it is estimated, and marked as such. */
export function usageOf(
  { usage, message }: Pick<ModelReply, 'usage' | 'message'>,
  { messages, tools }: { readonly messages: readonly Message[]; readonly tools: readonly ToolSpec[] },
): Usage {
  const { inputTokens, outputTokens } = usage
  if (inputTokens > 0 && outputTokens > 0) return usage
  return {
    ...usage,
    inputTokens: inputTokens || estimate([messages, tools]),
    outputTokens: outputTokens || estimate(message),
    estimated: true,
  }
}

function estimate(value: unknown): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(value)) / BYTES_PER_TOKEN)
}
