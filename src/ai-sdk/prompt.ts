import type { LanguageModelV4Message, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import type { Message, ToolMessage } from '../messages/types.ts'
import { assistantContent } from './replyParts.ts'
import { userContent } from './userContent.ts'

/** A conversation as the prompt of the AI SDK: the results of one step are one message, and name their tools. */
export function promptOf(messages: readonly Message[]): LanguageModelV4Message[] {
  const prompt: LanguageModelV4Message[] = []
  const toolNames = new Map<string, string>()
  for (const message of messages) {
    switch (message.role) {
      case 'user':
        prompt.push({ role: 'user', content: userContent(message.content) })
        break
      case 'assistant':
        for (const call of message.tool_calls ?? []) toolNames.set(call.id, call.function.name)
        prompt.push({ role: 'assistant', content: assistantContent(message) })
        break
      case 'tool': {
        const last = prompt.at(-1)
        const result = resultPart(message, toolNames)
        if (last?.role === 'tool') last.content.push(result)
        else prompt.push({ role: 'tool', content: [result] })
        break
      }
      default:
        prompt.push({ role: 'system', content: message.content })
    }
  }
  return prompt
}

function resultPart(
  { tool_call_id: toolCallId, content: value }: ToolMessage,
  toolNames: ReadonlyMap<string, string>,
): LanguageModelV4ToolResultPart {
  const toolName = toolNames.get(toolCallId) ?? ''
  return { type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } }
}

/** Up to `v3`, a file's data stands there by itself; `v4` says what kind it is of. */
export function withBareFiles(prompt: readonly LanguageModelV4Message[]): readonly object[] {
  return prompt.map((message) => {
    if (message.role !== 'user') return message
    const content = message.content.map((part) =>
      part.type === 'file' ? { ...part, data: bareData(part) } : part,
    )
    return { ...message, content }
  })
}

function bareData({ data }: { readonly data: unknown }): unknown {
  const { type, url, data: bytes } = data as { type?: unknown; url?: unknown; data?: unknown }
  return type === 'url' ? url : type === 'data' ? bytes : data
}
