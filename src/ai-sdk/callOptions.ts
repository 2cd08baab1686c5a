import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider'
import type { ToolSpec } from '../messages/types.ts'
import type { ModelRequest, ResponseFormat } from '../models/model.ts'
import { promptOf, withBareFiles } from './prompt.ts'

/** A request as the options of `doGenerate` and `doStream`. */
export function callOptions(request: ModelRequest, specificationVersion: string): object {
  const { prompt, ...rest } = newestOptions(request)
  const bare = specificationVersion === 'v2' || specificationVersion === 'v3'
  return { prompt: bare ? withBareFiles(prompt) : prompt, ...rest }
}

function newestOptions({
  messages,
  tools,
  toolChoice,
  responseFormat,
  stop,
}: ModelRequest): LanguageModelV4CallOptions {
  return {
    prompt: promptOf(messages),
    ...(tools.length === 0 ? {} : { tools: tools.map(functionTool), toolChoice: { type: toolChoice } }),
    ...(responseFormat === undefined ? {} : { responseFormat: jsonFormat(responseFormat) }),
    ...(stop === undefined ? {} : { stopSequences: [...stop] }),
  }
}

function functionTool({ name, description, parameters, strict }: ToolSpec): LanguageModelV4FunctionTool {
  return {
    type: 'function',
    name,
    description,
    inputSchema: parameters,
    ...(strict === undefined ? {} : { strict }),
  }
}

function jsonFormat(format: ResponseFormat): NonNullable<LanguageModelV4CallOptions['responseFormat']> {
  return format.type === 'json_object'
    ? { type: 'json' }
    : { type: 'json', name: format.name, schema: format.schema }
}
