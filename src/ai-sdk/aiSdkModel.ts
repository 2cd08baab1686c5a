import { MisuseError } from '../errors.ts'
import { fieldsOf } from '../messages/fields.ts'
import type { ModelReply } from '../messages/reply.ts'
import { checkedContextWindow, knownContextWindow } from '../models/contextWindow.ts'
import type { Model, ModelIO } from '../models/model.ts'
import { ModelError } from '../models/modelError.ts'
import { temperatureField } from '../models/openaiModels.ts'
import { timeoutMs } from '../timeouts.ts'
import { callOptions } from './callOptions.ts'
import { classifyFailure } from './failure.ts'
import type { AiSdkLanguageModel } from './languageModel.ts'
import { Patience } from './patience.ts'
import { replyOfResult } from './reply.ts'
import { StreamedResult } from './streamedResult.ts'

const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_IDLE_TIMEOUT_MS = 30_000

export interface AiSdkModelOptions {
  /** Milliseconds after which a call is given up, and a stream that has not begun. Default: 60000. */
  readonly timeoutMs?: number
  /** Milliseconds without any part of a stream after which the call is given up. Default: 30000. */
  readonly idleTimeoutMs?: number
  /** Default: 0, so that runs can be repeated; not sent to OpenAI's reasoning models. `null` never sends one. */
  readonly temperature?: number | null
  /** The most tokens of a reply. Default: the provider's. */
  readonly maxTokens?: number
  /** The most tokens of request and reply together. Default: that of the model where it is one of OpenAI's, else unknown. */
  readonly contextWindow?: number
  /**
   * More options for each call, as the provider interface names them: `topP`, `seed`, `headers`, `reasoning`,
   * `providerOptions`. They win over our own.
   */
  readonly callOptions?: Readonly<Record<string, unknown>>
}

/**
 * A language model of the AI SDK, called through its provider interface (`doGenerate`, `doStream`; `v2` to `v4`). Only
 * the provider's package is needed, not `ai`. What a model reasoned is kept on the assistant message, in
 * `ai_sdk_parts`, with the provider's metadata (signatures and the like), and sent back with it. Tools that the
 * provider runs itself, generated files and sources are left out.
 *
 * @param model What a provider makes, such as `anthropic('claude-sonnet-4-5')`.
 * @throws MisuseError `invalid_model` for anything else.
 */
export function aiSdkModel(model: AiSdkLanguageModel, options: AiSdkModelOptions = {}): Model {
  const { modelId, specificationVersion, doGenerate, doStream } = fieldsOf(model)
  if (typeof doGenerate !== 'function' || typeof doStream !== 'function') {
    throw new MisuseError(
      'invalid_model',
      "aiSdkModel needs a language model of an AI SDK provider, for instance aiSdkModel(openai('gpt-4.1')).",
    )
  }
  const id = String(modelId)
  const version = String(specificationVersion)
  const callMs = timeoutMs('timeoutMs', options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  const idleMs = timeoutMs('idleTimeoutMs', options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS)
  const { maxTokens } = options
  const contextWindow = checkedContextWindow('aiSdkModel', options.contextWindow ?? knownContextWindow(id))
  const fixed = {
    ...temperatureField(id, options.temperature),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
  }

  return {
    id,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    async generate(request, io) {
      const patience = new Patience(io.signal)
      const { signal } = patience
      try {
        const call = {
          ...fixed,
          ...callOptions(request, version),
          ...options.callOptions,
          abortSignal: signal,
        }
        patience.wait(callMs)
        const reply =
          io.onDelta === undefined
            ? completed(model, call)
            : streamed(model, call, {
                signal,
                onDelta: io.onDelta,
                heard: () => patience.wait(idleMs),
              })
        return await Promise.race([reply, patience.over])
      } catch (error) {
        throw classifyFailure(error, { model: id, timeoutMs: callMs })
      } finally {
        patience.dispose()
      }
    },
  }
}

async function completed(model: AiSdkLanguageModel, call: object): Promise<ModelReply> {
  return replyOfResult(await model.doGenerate(call))
}

interface Listener {
  readonly signal: AbortSignal
  readonly onDelta: NonNullable<ModelIO['onDelta']>
  /** Called for each part of the stream. */
  readonly heard: () => void
}

async function streamed(
  model: AiSdkLanguageModel,
  call: object,
  { signal, onDelta, heard }: Listener,
): Promise<ModelReply> {
  const { stream } = fieldsOf(await model.doStream(call))
  if (!isIterable(stream)) {
    throw new ModelError('malformed_reply', 'The reply holds no stream.', { retryable: true })
  }
  const result = new StreamedResult()
  for await (const part of stream) {
    // A provider that does not listen goes on, while nobody is there any more.
    if (signal.aborted) break
    heard()
    const delta = result.add(part)
    if (delta.text !== '') onDelta(delta)
  }
  return replyOfResult(result.result())
}

function isIterable(stream: unknown): stream is AsyncIterable<unknown> {
  return typeof stream === 'object' && stream !== null && Symbol.asyncIterator in stream
}
