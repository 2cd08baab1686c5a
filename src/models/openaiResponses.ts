import type { OpenAI } from 'openai'
import type { ToolSpec } from '../messages/types.ts'
import type { Model, ModelRequest, ResponseFormat } from './model.ts'
import type { JsonMode, OpenAIOptions } from './openaiClient.ts'
import { mayReason, temperatureField } from './openaiModels.ts'
import { type Body, type OpenAIApi, openaiService } from './openaiService.ts'
import { classifyResponseError } from './responsesFailure.ts'
import { inputItems } from './responsesInput.ts'
import { replyOfResponse } from './responsesReply.ts'
import { ResponseAccumulator } from './responsesStream.ts'

export type OpenAIResponsesOptions = OpenAIOptions

/**
 * A model behind OpenAI's Responses API, called through the official SDK. Nothing is stored at the provider: each
 * request carries the whole conversation. What a model reasoned before it called a tool is kept on the assistant
 * message, in `response_items`, and sent back with it, so that the model goes on from there. How hard it reasons is
 * asked for with `extraBody: { reasoning: { effort: 'low' } }`.
 *
 * The API knows no stop texts, so those of a request are left out.
 *
 * https://platform.openai.com/docs/api-reference/responses
 *
 * @param model The model's id, such as `gpt-5`.
 * @throws MisuseError `missing_api_key` where there is no key and no other server is named.
 */
export function responses(model: string, options: OpenAIResponsesOptions = {}): Model {
  return openaiService(responsesApi, model, options)
}

const responsesApi: OpenAIApi = {
  name: 'responses',
  fixedFields,
  requestFields,
  async complete(client, body, options) {
    const response: unknown = await client.responses.create(
      { ...body, stream: false } as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming,
      options,
    )
    return replyOfResponse(response)
  },
  stream: (client, body, options) =>
    client.responses.create(
      { ...body, stream: true } as unknown as OpenAI.Responses.ResponseCreateParamsStreaming,
      options,
    ),
  accumulator() {
    const accumulator = new ResponseAccumulator()
    return {
      add: (event) => accumulator.add(event),
      reply: () => replyOfResponse(accumulator.response()),
    }
  },
  classify: classifyResponseError,
}

function fixedFields(model: string, { temperature, maxTokens }: OpenAIResponsesOptions): Body {
  return {
    model,
    store: false,
    ...(mayReason(model) ? { include: ['reasoning.encrypted_content'] } : {}),
    ...temperatureField(model, temperature),
    ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
  }
}

function requestFields(
  { messages, tools, toolChoice, responseFormat }: ModelRequest,
  jsonMode: JsonMode,
): Body {
  const format = responseFormat && formatParameter(responseFormat, tools.length > 0, jsonMode)
  return {
    input: inputItems(messages),
    ...(tools.length === 0 ? {} : { tools: tools.map(toolParameter), tool_choice: toolChoice }),
    ...(format === undefined ? {} : { text: { format } }),
  }
}

/** Servers that only know JSON objects tend to forget their tools over them, so there it is asked for without tools. */
function formatParameter(format: ResponseFormat, withTools: boolean, mode: JsonMode): Body | undefined {
  if (mode === 'none' || (mode === 'object' && withTools)) return undefined
  if (mode === 'object' || format.type === 'json_object') return { type: 'json_object' }
  return { type: 'json_schema', name: format.name, schema: format.schema }
}

/** Unlike chat completions, this API holds a model to the schema unless told not to, and refuses schemas over it. */
function toolParameter({ name, description, parameters, strict = false }: ToolSpec): Body {
  return { type: 'function', name, description, parameters, strict }
}
