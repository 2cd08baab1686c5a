import type { OpenAI } from 'openai'
import { MisuseError } from '../errors.ts'
import { fieldsOf, normalizeReply } from '../messages/normalizeReply.ts'
import type { ModelReply } from '../messages/reply.ts'
import { ReplyAccumulator } from '../messages/replyAccumulator.ts'
import type { ToolSpec } from '../messages/types.ts'
import { classifyError } from './classifyError.ts'
import type { Model, ModelIO, ModelRequest, ResponseFormat } from './model.ts'
import { ModelError } from './modelError.ts'

/** Milliseconds after which a model call is given up, unless the options say otherwise. */
const DEFAULT_MODEL_TIMEOUT_MS = 60_000

/** Models that answer a request which names a temperature with an error: OpenAI's reasoning models. */
const REFUSES_TEMPERATURE = /(^|\/)(o\d|gpt-5(?!-chat)|codex)/

export interface OpenAIChatOptions {
  /** A client of the `openai` SDK to use. `baseURL`, `apiKey` and `headers` are then its own affair. */
  readonly client?: OpenAI
  /** Where the API is, such as `http://localhost:11434/v1`. Default: `OPENAI_BASE_URL`, else OpenAI. */
  readonly baseURL?: string
  /** Default: `OPENAI_API_KEY`. May be left out for servers that ask for none. */
  readonly apiKey?: string
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds after which a call is given up. Default: 60000. */
  readonly timeoutMs?: number
  /** Default: 0, so that runs can be repeated; not sent to models that refuse it. `null` never sends one. */
  readonly temperature?: number | null
  /**
   * How far the server can be held to JSON: to a schema, to any JSON object, or not at all. Asked for only where an
   * agent wants structured output. Default: `schema` for OpenAI itself, `object` for other servers.
   */
  readonly jsonMode?: 'schema' | 'object' | 'none'
  /** The most tokens of a reply. Default: the provider's. */
  readonly maxTokens?: number
  /** Fields to add to each request, for what only some providers know. They win over our own. */
  readonly extraBody?: Readonly<Record<string, unknown>>
}

/**
 * A model behind OpenAI's chat completions, or any server that speaks them, called through the official SDK. The
 * SDK's own retries are off: the chart retries, where it can be seen.
 *
 * @param model The model's id, such as `gpt-4.1`.
 * @throws MisuseError `missing_api_key` where there is no key and no other server is named.
 */
export function openaiChat(model: string, options: OpenAIChatOptions = {}): Model {
  if (typeof model !== 'string' || model === '') {
    throw new MisuseError(
      'invalid_model',
      "openaiChat needs the id of a model, for instance openaiChat('gpt-4.1').",
    )
  }
  const loadClient = clientLoader(options)
  const fixed = fixedFields(model, options)
  const timeout = options.timeoutMs ?? DEFAULT_MODEL_TIMEOUT_MS
  const jsonMode = options.jsonMode ?? (namesOtherServer(options) ? 'object' : 'schema')

  return {
    id: model,
    async generate(request, io) {
      const client = await loadClient()
      const body = { ...fixed, ...requestFields(request, jsonMode), ...options.extraBody }
      const requestOptions = { signal: io.signal, timeout, maxRetries: 0 }
      try {
        return io.onDelta === undefined
          ? await complete(client, body, requestOptions)
          : await streamed(client, body, requestOptions, io.onDelta)
      } catch (error) {
        throw classifyError(error, { model, timeoutMs: timeout })
      }
    },
  }
}

type Body = Readonly<Record<string, unknown>>
type RequestOptions = { readonly signal: AbortSignal; readonly timeout: number; readonly maxRetries: number }

async function complete(client: OpenAI, body: Body, options: RequestOptions): Promise<ModelReply> {
  const completion: unknown = await client.chat.completions.create(
    { ...body, stream: false } as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming,
    options,
  )
  refuseErrorBody(completion)
  const { choices } = fieldsOf(completion)
  if (!Array.isArray(choices) || choices.length === 0) {
    throw new ModelError('malformed_reply', 'The reply holds no choices.', { retryable: true })
  }
  return normalizeReply(completion)
}

async function streamed(
  client: OpenAI,
  body: Body,
  options: RequestOptions,
  onDelta: NonNullable<ModelIO['onDelta']>,
): Promise<ModelReply> {
  const chunks = await client.chat.completions.create(
    {
      stream_options: { include_usage: true },
      ...body,
      stream: true,
    } as unknown as OpenAI.ChatCompletionCreateParamsStreaming,
    options,
  )
  const accumulator = new ReplyAccumulator()
  let received = 0
  for await (const chunk of chunks) {
    refuseErrorBody(chunk)
    received++
    const delta = accumulator.add(chunk)
    if (delta.text !== '') onDelta(delta)
  }
  if (received === 0)
    throw new ModelError('malformed_reply', 'The stream ended without a reply.', { retryable: true })
  return accumulator.reply()
}

/** Some servers report an error in a body whose status says that all went well. */
function refuseErrorBody(body: unknown): void {
  const { error, choices } = fieldsOf(body)
  if (error !== undefined && error !== null && choices === undefined) throw error
}

type JsonMode = NonNullable<OpenAIChatOptions['jsonMode']>

function requestFields(
  { messages, tools, toolChoice, responseFormat, stop }: ModelRequest,
  jsonMode: JsonMode,
): Body {
  const format = responseFormat && formatParameter(responseFormat, tools.length > 0, jsonMode)
  return {
    messages,
    ...(tools.length === 0 ? {} : { tools: tools.map(toolParameter), tool_choice: toolChoice }),
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

function toolParameter({ name, description, parameters, strict }: ToolSpec): Body {
  return {
    type: 'function',
    function: { name, description, parameters, ...(strict === undefined ? {} : { strict }) },
  }
}

function fixedFields(model: string, { temperature = 0, maxTokens }: OpenAIChatOptions): Body {
  const sendsTemperature = temperature !== null && !(temperature === 0 && REFUSES_TEMPERATURE.test(model))
  return {
    model,
    ...(sendsTemperature ? { temperature } : {}),
    ...(maxTokens === undefined ? {} : { [maxTokensField(model)]: maxTokens }),
  }
}

/** OpenAI's reasoning models renamed the field; other servers know only the old name. */
function maxTokensField(model: string): string {
  return REFUSES_TEMPERATURE.test(model) ? 'max_completion_tokens' : 'max_tokens'
}

function namesOtherServer({ client, baseURL = process.env.OPENAI_BASE_URL }: OpenAIChatOptions): boolean {
  return !/^https:\/\/api\.openai\.com\b/.test(client?.baseURL ?? (baseURL || 'https://api.openai.com'))
}

/** The SDK is loaded with the first call: importing Loopchart stays quick. */
function clientLoader(options: OpenAIChatOptions): () => Promise<OpenAI> {
  const { client } = options
  if (client !== undefined) return async () => client
  const baseURL = options.baseURL ?? (process.env.OPENAI_BASE_URL || undefined)
  const apiKey = options.apiKey ?? (process.env.OPENAI_API_KEY || undefined)
  if (apiKey === undefined && baseURL === undefined) {
    throw new MisuseError(
      'missing_api_key',
      'openaiChat has no API key. Set OPENAI_API_KEY, pass apiKey, or name another server with baseURL.',
    )
  }
  let loading: Promise<OpenAI> | undefined
  return () => {
    loading ??= import('openai').then(
      ({ OpenAI: Client }) =>
        new Client({
          apiKey: apiKey ?? 'none',
          ...(baseURL === undefined ? {} : { baseURL }),
          ...(options.headers === undefined ? {} : { defaultHeaders: { ...options.headers } }),
        }),
    )
    return loading
  }
}
