import type { ToolMessage } from '../messages/types.ts'
import type { AgentContext, OpenCall } from './context.ts'
import type { ToolAnswer } from './effects.ts'

/** The tool messages that answer the calls of a step, in their order. `open` answers those that have no answer yet. */
export function toolMessages(
  { policy }: Pick<AgentContext, 'policy'>,
  calls: readonly OpenCall[],
  open: ToolAnswer,
): readonly ToolMessage[] {
  return calls.map(({ call, note, answer: { content, error } = open }) => ({
    role: 'tool',
    tool_call_id: call.id,
    content: policy
      .resultFormat({
        tool: call.function.name,
        arguments: call.function.arguments,
        content,
        ...(error === undefined ? {} : { error }),
        ...(note === undefined ? {} : { note }),
      })
      .toWellFormed(),
  }))
}
