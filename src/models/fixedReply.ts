import { normalizeReply } from '../messages/normalizeReply.ts'
import { noUsage } from '../messages/reply.ts'
import type { AssistantMessage } from '../messages/types.ts'
import type { Model } from './model.ts'

/** A model that answers with what it was given, at no cost. */
export function fixedReply(id: string, reply: string | AssistantMessage): Model {
  const message = typeof reply === 'string' ? { role: 'assistant', content: reply } : reply
  const finish_reason = 'tool_calls' in message ? 'tool_calls' : 'stop'
  return {
    id,
    generate: async () => ({ ...normalizeReply({ choices: [{ message, finish_reason }] }), usage: noUsage }),
  }
}
