import type { ModelReply } from '../messages/reply.ts'
import type { Delta } from '../messages/replyAccumulator.ts'
import type { JsonSchema, Message, ToolSpec } from '../messages/types.ts'

/** A service that calls a language model once. It does not retry: the chart does. */
export interface Model {
  /** Names the model in events and outcomes. */
  readonly id: string
  /** The most tokens of request and reply together, where that is known: memories budget by it. */
  readonly contextWindow?: number
  /** The ids of the models of which one may answer, where there are several. Default: `id`. */
  readonly ids?: readonly string[]
  /**
   * @throws ModelError, or anything: what is thrown becomes a failed attempt. Set `retryable: true` on an error for
   * which another attempt may help, and `retryAfterMs` where the provider says how long to wait.
   */
  generate(request: ModelRequest, io: ModelIO): Promise<ModelReply>
}

export interface ModelRequest {
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
  readonly toolChoice: 'auto' | 'none' | 'required'
  /** Asks for JSON instead of free text. A service that cannot hold its model to it leaves it out. */
  readonly responseFormat?: ResponseFormat
  /** Texts at which the model should stop writing. */
  readonly stop?: readonly string[]
}

export type ResponseFormat =
  | { readonly type: 'json_object' }
  | { readonly type: 'json_schema'; readonly name: string; readonly schema: JsonSchema }

export interface ModelIO {
  /** Aborted when nobody wants the reply any more. */
  readonly signal: AbortSignal
  /** Present where somebody watches: stream, and report each piece of text as it comes. */
  readonly onDelta?: (delta: Delta) => void
  /** To be called where the text that was reported so far is void, because the service begins anew. */
  readonly onReset?: () => void
  /** How often this call will be tried again if it fails in a way that may pass. Default: 0. */
  readonly retriesLeft?: number
}
