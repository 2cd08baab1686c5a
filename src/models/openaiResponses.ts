import type { OpenAI } from 'openai'
import type { ModelReply } from '../messages/reply.ts'
import type { ToolSpec } from '../messages/types.ts'
import { timeoutMs } from '../timeouts.ts'
import { IdleTimeout } from './idleTimeout.ts'
import type { Model, ModelIO, ModelRequest, ResponseFormat } from './model.ts'
import {
  clientLoader,
  DEFAULT_IDLE_TIMEOUT_MS,
  DEFAULT_MODEL_TIMEOUT_MS,
  defaultJsonMode,
  type JsonMode,
  type OpenAIOptions,
  type RequestOptions,
  requireModelName,
} from './openaiClient.ts'
import { mayReason, temperatureField } from './openaiModels.ts'
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
  requireModelName('responses', model)
  const loadClient = clientLoader('responses', options)
  const fixed = fixedFields(model, options)
  const timeout = timeoutMs('timeoutMs', options.timeoutMs ?? DEFAULT_MODEL_TIMEOUT_MS)
  const idleMs = timeoutMs('idleTimeoutMs', options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS)
  const jsonMode = defaultJsonMode(options)

  return {
    id: model,
    async generate(request, io) {
      const client = await loadClient()
      const body = { ...fixed, ...requestFields(request, jsonMode), ...options.extraBody }
      const requestOptions = { signal: io.signal, timeout, maxRetries: 0 } as const
      try {
        return io.onDelta === undefined
          ? await complete(client, body, requestOptions)
          : await streamed(client, body, requestOptions, { onDelta: io.onDelta, idleMs })
      } catch (error) {
        throw classifyResponseError(error, { model, timeoutMs: timeout })
      }
    },
  }
}

type Body = Readonly<Record<string, unknown>>

async function complete(client: OpenAI, body: Body, options: RequestOptions): Promise<ModelReply> {
  const response: unknown = await client.responses.create(
    { ...body, stream: false } as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming,
    options,
  )
  return replyOfResponse(response)
}

async function streamed(
  client: OpenAI,
  body: Body,
  options: RequestOptions,
  { onDelta, idleMs }: { readonly onDelta: NonNullable<ModelIO['onDelta']>; readonly idleMs: number },
): Promise<ModelReply> {
  const idle = new IdleTimeout(options.signal, idleMs)
  try {
    const events = await client.responses.create(
      { ...body, stream: true } as unknown as OpenAI.Responses.ResponseCreateParamsStreaming,
      { ...options, signal: idle.signal },
    )
    const accumulator = new ResponseAccumulator()
    idle.touch()
    for await (const event of events) {
      idle.touch()
      const delta = accumulator.add(event)
      if (delta.text !== '') onDelta(delta)
    }
    idle.throwIfExpired()
    return replyOfResponse(accumulator.response())
  } finally {
    idle.dispose()
  }
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
