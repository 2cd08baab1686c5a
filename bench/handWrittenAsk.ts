import type { OpenAI } from 'openai'
import type { Ask, HandTool } from './handWrittenLoop.ts'

/** The model calls of the hand-written loop, through the SDK. */

export function askOnce(client: OpenAI, model: string, tools: readonly HandTool[]): Ask {
  const specs = tools.map(({ spec }) => spec)
  return async (messages) => {
    const completion = await client.chat.completions.create({
      model,
      temperature: 0,
      messages,
      tools: specs,
      tool_choice: 'auto',
    })
    const message = completion.choices[0]?.message
    if (message === undefined) throw new Error('The reply holds no choices.')
    return message
  }
}

export function askStreaming(
  client: OpenAI,
  model: string,
  tools: readonly HandTool[],
  onText: (text: string) => void,
): Ask {
  const specs = tools.map(({ spec }) => spec)
  return async (messages) => {
    const stream = await client.chat.completions.create({
      model,
      temperature: 0,
      messages,
      tools: specs,
      tool_choice: 'auto',
      stream: true,
      stream_options: { include_usage: true },
    })
    let content = ''
    const calls: OpenAI.ChatCompletionMessageFunctionToolCall[] = []
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta
      if (delta?.content) {
        content += delta.content
        onText(delta.content)
      }
      for (const { index, id, function: fn } of delta?.tool_calls ?? []) {
        calls[index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } }
        const call = calls[index]
        if (id) call.id = id
        if (fn?.name) call.function.name += fn.name
        if (fn?.arguments) call.function.arguments += fn.arguments
      }
    }
    return { role: 'assistant', content, ...(calls.length === 0 ? {} : { tool_calls: calls }) }
  }
}
