import type { OpenAI } from 'openai'
import { toJSONSchema, type ZodType, z } from 'zod'

/** The loop as an experienced engineer writes it, without a library: what Loopchart is measured against. */

export type Ask = (
  messages: OpenAI.ChatCompletionMessageParam[],
) => Promise<OpenAI.ChatCompletionAssistantMessageParam>

export interface HandTool {
  readonly name: string
  readonly spec: OpenAI.ChatCompletionFunctionTool
  readonly call: (json: string) => Promise<string>
}

export function handTool<Schema extends ZodType>(definition: {
  readonly name: string
  readonly description: string
  readonly input: Schema
  readonly run: (args: z.output<Schema>) => unknown
}): HandTool {
  const { name, description, input, run } = definition
  return {
    name,
    spec: { type: 'function', function: { name, description, parameters: toJSONSchema(input) } },
    async call(json) {
      const args = input.safeParse(JSON.parse(json))
      if (!args.success) return `Invalid arguments: ${z.prettifyError(args.error)}`
      const result = await run(args.data)
      return typeof result === 'string' ? result : JSON.stringify(result)
    },
  }
}

export async function handWrittenLoop(
  ask: Ask,
  tools: ReadonlyMap<string, HandTool>,
  instructions: string,
  question: string,
): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: instructions },
    { role: 'user', content: question },
  ]
  while (true) {
    const message = await ask(messages)
    messages.push(message)
    const { content, tool_calls: calls = [] } = message
    if (calls.length === 0) return typeof content === 'string' ? content : ''
    messages.push(...(await Promise.all(calls.map((call) => answer(call, tools)))))
  }
}

async function answer(
  call: OpenAI.ChatCompletionMessageToolCall,
  tools: ReadonlyMap<string, HandTool>,
): Promise<OpenAI.ChatCompletionToolMessageParam> {
  return { role: 'tool', tool_call_id: call.id, content: await resultOf(call, tools) }
}

async function resultOf(
  call: OpenAI.ChatCompletionMessageToolCall,
  tools: ReadonlyMap<string, HandTool>,
): Promise<string> {
  if (call.type !== 'function') return `Error: ${call.type} calls are not supported`
  const tool = tools.get(call.function.name)
  if (tool === undefined) return `Error: unknown tool ${call.function.name}`
  try {
    return await tool.call(call.function.arguments)
  } catch (error) {
    return `Error: ${error instanceof Error ? error.message : String(error)}`
  }
}
