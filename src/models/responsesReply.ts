import { fieldsOf } from '../messages/fields.ts'
import { finishOf, usageOf } from '../messages/normalizeReply.ts'
import type { FinishReason, ModelReply, Usage } from '../messages/reply.ts'
import type { ToolCall } from '../messages/types.ts'
import { ModelError } from './modelError.ts'
import {
  type Item,
  isCall,
  isMessage,
  itemsOf,
  keptItems,
  RESPONSE_ITEMS,
  textOfItems,
} from './responsesItems.ts'

/**
 * Turns a response into the one shape of all providers.
 *
 * @throws ModelError `malformed_reply` for what is no response, or not a finished one; the `error` of the body as it
 * is for a response that failed.
 */
export function replyOfResponse(response: unknown): ModelReply {
  const { error, status, output, model, usage, incomplete_details: incomplete } = fieldsOf(response)
  if (error !== undefined && error !== null) throw error
  if (!Array.isArray(output)) {
    throw new ModelError('malformed_reply', 'The reply holds no output.', { retryable: true })
  }
  if (status === 'failed') throw { code: 'server_error', message: 'The response failed without a reason.' }
  if (status !== undefined && status !== 'completed' && status !== 'incomplete') {
    throw new ModelError('malformed_reply', `The response is not finished: its status is ${status}.`, {
      retryable: true,
    })
  }
  const items = itemsOf(output)
  const text = textOfItems(items)
  const toolCalls = items.filter(isCall).map(toolCall)
  const refusal = refusalOf(items)
  const kept = keptItems(items)
  return {
    text,
    toolCalls,
    finish: finishOfResponse(status, fieldsOf(incomplete).reason, toolCalls.length > 0),
    usage: usageOfResponse(usage),
    message: {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
      ...(kept.length > 0 ? { [RESPONSE_ITEMS]: kept } : {}),
    },
    ...(refusal === '' ? {} : { refusal }),
    ...(typeof model === 'string' ? { model } : {}),
  }
}

function toolCall({ call_id: id, name, arguments: args }: Item): ToolCall {
  return {
    id: typeof id === 'string' ? id : '',
    type: 'function',
    function: {
      name: String(name),
      arguments: typeof args === 'string' ? args : (JSON.stringify(args) ?? ''),
    },
  }
}

function refusalOf(items: readonly Item[]): string {
  return items
    .filter(isMessage)
    .flatMap(({ content }) => (Array.isArray(content) ? content.map(fieldsOf) : []))
    .map(({ refusal }) => (typeof refusal === 'string' ? refusal : ''))
    .join('')
}

function finishOfResponse(status: unknown, incompleteReason: unknown, hasCalls: boolean): FinishReason {
  if (status === 'incomplete') {
    return incompleteReason === 'max_output_tokens' ? 'length' : finishOf(incompleteReason)
  }
  if (hasCalls) return 'tool_calls'
  return status === 'completed' ? 'stop' : 'unknown'
}

/** The counts of chat completions under other names. */
function usageOfResponse(raw: unknown): Usage {
  if (raw === undefined || raw === null) return usageOf(undefined)
  const usage = fieldsOf(raw)
  return usageOf({
    prompt_tokens: usage.input_tokens,
    prompt_tokens_details: usage.input_tokens_details,
    completion_tokens: usage.output_tokens,
    completion_tokens_details: usage.output_tokens_details,
  })
}
