import { noUsage } from '../messages/reply.ts'
import type { Model } from '../models/model.ts'

/** Writes what memories ask a model for, always the same: a text that will do for a summary and for facts. */
export const scribe: Model = {
  id: 'scribe',
  generate() {
    const text = '{"topic":"weather"}'
    return Promise.resolve({
      text,
      toolCalls: [],
      finish: 'stop',
      usage: noUsage,
      message: { role: 'assistant', content: text },
    })
  },
}
