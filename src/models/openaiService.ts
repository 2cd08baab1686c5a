import type { OpenAI } from 'openai'
import type { ModelReply } from '../messages/reply.ts'
import type { Delta } from '../messages/replyAccumulator.ts'
import { timeoutMs } from '../timeouts.ts'
import { checkedContextWindow, knownContextWindow } from './contextWindow.ts'
import { ON_BYTES } from './httpFetch.ts'
import { IdleTimeout } from './idleTimeout.ts'
import type { Model, ModelIO, ModelRequest } from './model.ts'
import type { ModelError } from './modelError.ts'
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

export type Body = Readonly<Record<string, unknown>>

/** What sets one of the SDK's interfaces apart from the other. */
export interface OpenAIApi {
  /** The function that users call, for the texts of errors. */
  readonly name: string
  /** Fields that are the same in every request. */
  fixedFields(model: string, options: OpenAIOptions): Body
  requestFields(request: ModelRequest, jsonMode: JsonMode): Body
  complete(client: OpenAI, body: Body, options: RequestOptions): Promise<ModelReply>
  stream(client: OpenAI, body: Body, options: RequestOptions): Promise<AsyncIterable<unknown>>
  accumulator(): Accumulator
  classify(thrown: unknown, call: { readonly model: string; readonly timeoutMs: number }): ModelError
}

/** Gathers the pieces of a stream. */
export interface Accumulator {
  /** @throws Whatever a piece tells of. */
  add(piece: unknown): Delta
  /** @throws ModelError where the stream did not end as a reply does. */
  reply(): ModelReply
}

/** A model behind one of the SDK's interfaces. The SDK's own retries are off: the chart retries, where it is seen. */
export function openaiService(api: OpenAIApi, model: string, options: OpenAIOptions): Model {
  requireModelName(api.name, model)
  const loadClient = clientLoader(api.name, options)
  const fixed = api.fixedFields(model, options)
  const timeout = timeoutMs('timeoutMs', options.timeoutMs ?? DEFAULT_MODEL_TIMEOUT_MS)
  const idleMs = timeoutMs('idleTimeoutMs', options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS)
  const jsonMode = defaultJsonMode(options)
  const contextWindow = checkedContextWindow(api.name, options.contextWindow ?? knownContextWindow(model))

  return {
    id: model,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    async generate(request, { signal, onDelta }) {
      const client = await loadClient()
      const body = { ...fixed, ...api.requestFields(request, jsonMode), ...options.extraBody }
      const requestOptions = { signal, timeout, maxRetries: 0 } as const
      try {
        return onDelta === undefined
          ? await api.complete(client, body, requestOptions)
          : await streamed(api, client, body, requestOptions, { onDelta, idleMs })
      } catch (error) {
        signal.throwIfAborted()
        throw api.classify(error, { model, timeoutMs: timeout })
      }
    },
  }
}

async function streamed(
  api: OpenAIApi,
  client: OpenAI,
  body: Body,
  options: RequestOptions,
  { onDelta, idleMs }: { readonly onDelta: NonNullable<ModelIO['onDelta']>; readonly idleMs: number },
): Promise<ModelReply> {
  const idle = new IdleTimeout(options.signal, idleMs)
  try {
    // Comments keep a connection alive while a model thinks: bytes count, not only what they spell.
    const fetchOptions = { [ON_BYTES]: () => idle.touch() }
    const pieces = await api.stream(client, body, { ...options, signal: idle.signal, fetchOptions })
    const accumulator = api.accumulator()
    idle.touch()
    for await (const piece of pieces) {
      idle.touch()
      const delta = accumulator.add(piece)
      if (delta.text !== '') onDelta(delta)
    }
    idle.throwIfExpired()
    // Clients end a stream quietly when it is aborted, and half a reply is none.
    options.signal.throwIfAborted()
    return accumulator.reply()
  } finally {
    idle.dispose()
  }
}
