import type { OpenAI } from 'openai'
import { MisuseError } from '../errors.ts'
import { httpFetch } from './httpFetch.ts'

/** Milliseconds after which a model call is given up, unless the options say otherwise. */
export const DEFAULT_MODEL_TIMEOUT_MS = 60_000
/** Milliseconds without any piece of a stream after which it counts as stalled. */
export const DEFAULT_IDLE_TIMEOUT_MS = 30_000

/** What the services of the `openai` SDK have in common. */
export interface OpenAIOptions {
  /** A client of the `openai` SDK to use. `baseURL`, `apiKey` and `headers` are then its own affair. */
  readonly client?: OpenAI
  /** Where the API is, such as `http://localhost:11434/v1`. Default: `OPENAI_BASE_URL`, else OpenAI. */
  readonly baseURL?: string
  /** Default: `OPENAI_API_KEY`. May be left out for servers that ask for none. */
  readonly apiKey?: string
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Sends the requests. Default: one over Node's HTTP client, which is quicker than the global `fetch` and has 256
   * sockets to a host; further calls wait for one, and the wait counts as theirs. Pass the global `fetch` where a dispatcher of undici is to be used.
   */
  readonly fetch?: typeof globalThis.fetch
  /** Milliseconds after which a call is given up; for a stream, until it begins. Default: 60000. */
  readonly timeoutMs?: number
  /** Milliseconds without any piece of a stream after which the call is given up. Default: 30000. */
  readonly idleTimeoutMs?: number
  /** Default: 0, so that runs can be repeated; not sent to models that refuse it. `null` never sends one. */
  readonly temperature?: number | null
  /**
   * How far the server can be held to JSON: to a schema, to any JSON object, or not at all. Asked for only where an
   * agent wants structured output. Default: `schema` for OpenAI itself, `object` for other servers.
   */
  readonly jsonMode?: JsonMode
  /** The most tokens of a reply. Default: the provider's. */
  readonly maxTokens?: number
  /**
   * The most tokens of request and reply together, by which the agent's memory budgets. Default: that of the model where
   * it is one of OpenAI's, else unknown: then everything is sent until the provider finds it too long.
   */
  readonly contextWindow?: number
  /** Fields to add to each request, for what only some providers know. They win over our own. */
  readonly extraBody?: Readonly<Record<string, unknown>>
}

export type JsonMode = 'schema' | 'object' | 'none'

/** How one request is sent. The SDK's own retries are off: the chart retries, where it can be seen. */
export type RequestOptions = {
  readonly signal: AbortSignal
  readonly timeout: number
  readonly maxRetries: 0
  /** For our own `fetch`. */
  readonly fetchOptions?: object
}

/** @throws MisuseError `invalid_model` for anything but a name. */
export function requireModelName(service: string, model: unknown): void {
  if (typeof model === 'string' && model !== '') return
  throw new MisuseError(
    'invalid_model',
    `${service} needs the id of a model, for instance ${service}('gpt-4.1').`,
  )
}

/** How far a server can be held to JSON, unless the options say. */
export function defaultJsonMode(options: OpenAIOptions): JsonMode {
  return options.jsonMode ?? (namesOtherServer(options) ? 'object' : 'schema')
}

function namesOtherServer({ client, baseURL = process.env.OPENAI_BASE_URL }: OpenAIOptions): boolean {
  return !/^https:\/\/api\.openai\.com\b/.test(client?.baseURL ?? (baseURL || 'https://api.openai.com'))
}

/**
 * The SDK is loaded with the first call: importing Loopchart stays quick.
 *
 * @param service The function that was called, for the error's text.
 * @throws MisuseError `missing_api_key` where there is no key and no other server is named.
 */
export function clientLoader(service: string, options: OpenAIOptions): () => Promise<OpenAI> {
  const { client } = options
  if (client !== undefined) return async () => client
  const baseURL = options.baseURL ?? (process.env.OPENAI_BASE_URL || undefined)
  const apiKey = options.apiKey ?? (process.env.OPENAI_API_KEY || undefined)
  if (apiKey === undefined && baseURL === undefined) {
    throw new MisuseError(
      'missing_api_key',
      `${service} has no API key. Set OPENAI_API_KEY, pass apiKey, or name another server with baseURL.`,
    )
  }
  // A key is part of a header, and an error about a header shows it.
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new MisuseError(
      'invalid_api_key',
      `The API key for ${service} holds a space, a line break or a letter that no key has. Check where it comes from.`,
    )
  }
  if (baseURL !== undefined && !/^https?:\/\/[^/]/i.test(baseURL)) {
    throw new MisuseError(
      'invalid_base_url',
      `The baseURL for ${service} must be a URL such as http://localhost:11434/v1, not ${JSON.stringify(baseURL)}.`,
    )
  }
  let loading: Promise<OpenAI> | undefined
  return () => {
    loading ??= import('openai').then(
      ({ OpenAI: Client }) =>
        new Client({
          apiKey: apiKey ?? 'none',
          fetch: options.fetch ?? httpFetch,
          ...(baseURL === undefined ? {} : { baseURL }),
          ...(options.headers === undefined ? {} : { defaultHeaders: { ...options.headers } }),
        }),
    )
    return loading
  }
}
