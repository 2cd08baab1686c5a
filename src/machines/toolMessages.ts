import type { ToolMessage } from '../messages/types.ts'
import type { OpenCall } from './context.ts'
import type { ToolAnswer } from './effects.ts'

/** The tool messages that answer the calls of a step, in their order. `open` answers those that have no answer yet. */
export function toolMessages(calls: readonly OpenCall[], open: ToolAnswer): readonly ToolMessage[] {
  return calls.map(({ call, answer = open }) => ({
    role: 'tool',
    tool_call_id: call.id,
    content: answer.content.toWellFormed(),
  }))
}
