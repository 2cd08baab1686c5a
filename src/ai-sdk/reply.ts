import { fieldsOf } from '../messages/fields.ts'
import { usageOf } from '../messages/normalizeReply.ts'
import type { FinishReason, ModelReply, Usage } from '../messages/reply.ts'
import type { ToolCall } from '../messages/types.ts'
import { ModelError } from '../models/modelError.ts'
import { isCall, keptParts, partsOf, REPLY_PARTS, type ReplyPart, textOfParts } from './replyParts.ts'

/**
 * Turns a result of `doGenerate`, or what a stream spelled, into the one shape of all providers.
 *
 * @throws ModelError `malformed_reply` for what is no result, `overloaded` where the model stopped over an error.
 */
export function replyOfResult(result: unknown): ModelReply {
  const { content, finishReason, usage, response } = fieldsOf(result)
  if (!Array.isArray(content)) {
    throw new ModelError('malformed_reply', 'The reply holds no content.', { retryable: true })
  }
  const { unified = finishReason } = fieldsOf(finishReason)
  if (unified === 'error') {
    throw new ModelError('overloaded', 'The model stopped because of an error.', { retryable: true })
  }
  const parts = partsOf(content)
  const text = textOfParts(parts)
  const toolCalls = parts.filter(isCall).map(toolCall)
  const kept = keptParts(parts)
  const { modelId } = fieldsOf(response)
  return {
    text,
    toolCalls,
    finish: finishOf(unified),
    usage: usageOfResult(usage),
    message: {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
      ...(kept.length > 0 ? { [REPLY_PARTS]: kept } : {}),
    },
    ...(typeof modelId === 'string' ? { model: modelId } : {}),
  }
}

function toolCall({ toolCallId: id, toolName, input }: ReplyPart): ToolCall {
  return {
    id: typeof id === 'string' ? id : '',
    type: 'function',
    function: {
      name: String(toolName),
      arguments: typeof input === 'string' ? input : (JSON.stringify(input) ?? ''),
    },
  }
}

function finishOf(reason: unknown): FinishReason {
  switch (reason) {
    case 'stop':
    case 'length':
      return reason
    case 'tool-calls':
      return 'tool_calls'
    case 'content-filter':
      return 'content_filter'
    default:
      return 'unknown'
  }
}

/** Up to `v2`, usage is a list of numbers; since `v3`, an object each for input and output. */
function usageOfResult(raw: unknown): Usage {
  if (raw === undefined || raw === null) return usageOf(undefined)
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = fieldsOf(raw)
  const { total: input = inputTokens, cacheRead = cachedInputTokens } = fieldsOf(inputTokens)
  const { total: output = outputTokens, reasoning = reasoningTokens } = fieldsOf(outputTokens)
  return usageOf({
    prompt_tokens: input,
    prompt_tokens_details: { cached_tokens: cacheRead },
    completion_tokens: output,
    completion_tokens_details: { reasoning_tokens: reasoning },
  })
}
