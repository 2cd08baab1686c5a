import type { AssistantMessage, ToolCall } from './types.ts'

/** Why a model stopped, in one vocabulary for all providers. `unknown` where the provider did not say. */
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'unknown'

/** Tokens of one or several model calls. */
export interface Usage {
  /** Tokens of the request, cached ones included. */
  readonly inputTokens: number
  /** Those of `inputTokens` that the provider had cached. */
  readonly cachedTokens: number
  /** Tokens of the reply, reasoning included. */
  readonly outputTokens: number
  /** Those of `outputTokens` that were spent on reasoning. */
  readonly reasoningTokens: number
  /** Set where a provider reported nothing for at least one call, and its tokens are our estimate. */
  readonly estimated?: boolean
}

export const noUsage: Usage = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    ...(a.estimated || b.estimated ? { estimated: true } : {}),
  }
}

/** A reply of any provider, in one shape. */
export interface ModelReply {
  /** The visible text, `''` where there is none. */
  readonly text: string
  /** The calls asked for, in order. Ids may be empty or repeat: the machine makes them unique. */
  readonly toolCalls: readonly ToolCall[]
  readonly finish: FinishReason
  readonly usage: Usage
  /** What goes into the transcript. */
  readonly message: AssistantMessage
  /** The text of a refusal, where the provider marks one. */
  readonly refusal?: string
  /**
   * What was wrong with a reply that could not be understood, as a sentence that tells the model what to do instead.
   * Such a reply counts as malformed unless it has calls.
   */
  readonly problem?: string
  /** The id of the model that answered, where the provider names it. */
  readonly model?: string
}
