import type { OpenAI } from 'openai'
import { fieldsOf } from '../messages/fields.ts'
import { KEPT_FIELDS } from '../messages/keptFields.ts'
import { normalizeReply } from '../messages/normalizeReply.ts'
import type { ModelReply } from '../messages/reply.ts'
import { ReplyAccumulator } from '../messages/replyAccumulator.ts'
import type { Message, ToolSpec } from '../messages/types.ts'
import { classifyError } from './classifyError.ts'
import type { Model, ModelRequest, ResponseFormat } from './model.ts'
import { ModelError } from './modelError.ts'
import type { JsonMode, OpenAIOptions, RequestOptions } from './openaiClient.ts'
import { maxTokensField, temperatureField } from './openaiModels.ts'
import { type Body, type OpenAIApi, openaiService } from './openaiService.ts'

export type OpenAIChatOptions = OpenAIOptions

/**
 * A model behind OpenAI's chat completions, or any server that speaks them, called through the official SDK. The
 * SDK's own retries are off: the chart retries, where it can be seen.
 *
 * @param model The model's id, such as `gpt-4.1`.
 * @throws MisuseError `missing_api_key` where there is no key and no other server is named.
 */
export function openaiChat(model: string, options: OpenAIChatOptions = {}): Model {
  return openaiService(chatCompletions, model, options)
}

const chatCompletions: OpenAIApi = {
  name: 'openaiChat',
  fixedFields,
  requestFields,
  complete,
  async stream(client, body, options) {
    const { data, response } = await client.chat.completions
      .create(
        {
          stream_options: { include_usage: true },
          ...body,
          stream: true,
        } as unknown as OpenAI.ChatCompletionCreateParamsStreaming,
        options,
      )
      .withResponse()
    // Some servers do not stream, and some report an error in one piece.
    return /json/i.test(response.headers.get('content-type') ?? '') ? onePiece(response) : data
  },
  accumulator() {
    const accumulator = new ReplyAccumulator()
    return {
      add(chunk) {
        refuseErrorBody(chunk)
        return accumulator.add(chunk)
      },
      reply: () => replyOf(accumulator),
    }
  },
  classify: classifyError,
}

async function complete(client: OpenAI, body: Body, options: RequestOptions): Promise<ModelReply> {
  const completion: unknown = await client.chat.completions.create(
    { ...body, stream: false } as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming,
    options,
  )
  refuseErrorBody(completion)
  const { choices } = fieldsOf(completion)
  if (!Array.isArray(choices) || choices.length === 0) {
    const message = 'The reply holds no choices. Does this address speak chat completions?'
    throw new ModelError('malformed_reply', message, { retryable: true })
  }
  return normalizeReply(completion)
}

function replyOf(accumulator: ReplyAccumulator): ModelReply {
  if (accumulator.isEmpty) {
    const message = 'The stream ended without a reply. Does this address speak chat completions?'
    throw new ModelError('malformed_reply', message, { retryable: true })
  }
  if (accumulator.endsWithinCall) {
    throw new ModelError('connection', 'The stream ended in the middle of a tool call.', { retryable: true })
  }
  return accumulator.reply()
}

async function* onePiece(response: Response): AsyncGenerator<unknown> {
  yield await response.json()
}

/** Some servers report an error in a body, or in a piece of a stream, whose status says that all went well. */
function refuseErrorBody(body: unknown): void {
  const { error, object, choices } = fieldsOf(body)
  const choice = fieldsOf(Array.isArray(choices) ? choices[0] : undefined)
  const told = choice.error ?? error ?? (object === 'error' ? body : undefined)
  if (told !== undefined && told !== null)
    throw typeof told === 'string' ? { message: told, type: 'error' } : told
  if (choice.finish_reason === 'error')
    throw { message: 'The server broke the reply off.', type: 'server_error' }
}

function requestFields(
  { messages, tools, toolChoice, responseFormat, stop }: ModelRequest,
  jsonMode: JsonMode,
): Body {
  const format = responseFormat && formatParameter(responseFormat, tools.length > 0, jsonMode)
  return {
    messages: messages.map(withoutForeignFields),
    ...(tools.length === 0 ? {} : { tools: toolParameters(tools), tool_choice: toolChoice }),
    ...(format === undefined ? {} : { response_format: format }),
    ...(stop === undefined ? {} : { stop }),
  }
}

/** Servers that only know JSON objects tend to forget their tools over them, so there it is asked for without tools. */
function formatParameter(format: ResponseFormat, withTools: boolean, mode: JsonMode): Body | undefined {
  if (mode === 'none' || (mode === 'object' && withTools)) return undefined
  if (mode === 'object' || format.type === 'json_object') return { type: 'json_object' }
  return { type: 'json_schema', json_schema: { name: format.name, schema: format.schema } }
}

/** What other services of ours keep on a message, and servers of this protocol may refuse. */
function withoutForeignFields(message: Message): Message {
  if (message.role !== 'assistant' || !foreignFields.some((field) => field in message)) return message
  return Object.fromEntries(
    Object.entries(message).filter(([field]) => !foreignFields.includes(field)),
  ) as unknown as Message
}

const foreignFields: readonly string[] = Object.values(KEPT_FIELDS)

const parametersOfTools = new WeakMap<readonly ToolSpec[], readonly Body[]>()

/** An agent's tools stay the same array from call to call, so they are put into the provider's form once. */
function toolParameters(tools: readonly ToolSpec[]): readonly Body[] {
  const known = parametersOfTools.get(tools)
  if (known !== undefined) return known
  const parameters = tools.map(toolParameter)
  parametersOfTools.set(tools, parameters)
  return parameters
}

function toolParameter({ name, description, parameters, strict }: ToolSpec): Body {
  return {
    type: 'function',
    function: { name, description, parameters, ...(strict === undefined ? {} : { strict }) },
  }
}

function fixedFields(model: string, { temperature, maxTokens }: OpenAIChatOptions): Body {
  return {
    model,
    ...temperatureField(model, temperature),
    ...(maxTokens === undefined ? {} : { [maxTokensField(model)]: maxTokens }),
  }
}
