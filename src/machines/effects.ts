import type { ModelReply, Usage } from '../messages/reply.ts'
import type { Transcript } from '../messages/transcript.ts'
import type { ToolCall } from '../messages/types.ts'
import type { MemoryState } from './memoryState.ts'

/**
 * The effects that the chart asks for, as data. Each names its `place` in the run: the same place in every replay,
 * so that a journal can say what has already happened.
 */
export interface CallModelInput {
  readonly place: string
  /** System text that came with the history, for agents that have no instructions of their own. */
  readonly instructions?: string
  readonly transcript: Transcript
  readonly memory: MemoryState
  /** Whether the model may ask for tools. */
  readonly toolChoice: 'auto' | 'none'
  readonly step: number
  /** How often the call will be tried again if it fails in a way that may pass. */
  readonly retriesLeft: number
  /** A note to the model that is sent with this request only. */
  readonly note?: string
}

/** What calling the model gave, with what the chart has to know about the tools that it asked for. */
export interface ModelTurn {
  readonly reply: ModelReply
  /** Positions in `reply.toolCalls` that a person has to approve. */
  readonly needsApproval: readonly number[]
  /** Positions of calls whose tools are sequential. Default: none. */
  readonly sequential?: readonly number[]
  /** Tokens of the request as they were counted, where they were. */
  readonly counted?: CountedTokens
  /** Positions of calls whose tools are repeatable. Default: none. */
  readonly repeatable?: readonly number[]
  /** Positions of calls of tools that there are not. Default: none. */
  readonly unknown?: readonly number[]
  /** The id of the model that was asked; the reply may name it more exactly. */
  readonly model?: string
  /** The tools that the model was offered, where that is decided step by step. */
  readonly offered?: readonly string[]
}

/** Tokens of a request, as they are counted, before any calibration. */
export interface CountedTokens {
  readonly total: number
  /** Those of what is sent beside the conversation: system message, tools, a note. */
  readonly beside: number
}

export interface RunToolInput {
  readonly place: string
  readonly call: ToolCall
  readonly step: number
  /** As it was when the model was asked. */
  readonly transcript: Transcript
}

export interface CompactInput {
  readonly place: string
  /** System text that came with the history, for agents that have no instructions of their own. */
  readonly instructions?: string
  readonly transcript: Transcript
  readonly memory: MemoryState
  /** Whether the provider found the conversation too long. */
  readonly tooLong: boolean
}

/** What came of making room. Tokens are those of the request, as they are counted and calibrated. */
export interface Compaction {
  /** The new state of the memory. */
  readonly state: unknown
  /** The most tokens, as they are counted, that the conversation may have from now on, where the provider found the conversation too long. */
  readonly ceiling?: number
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** Tokens that were spent on it, by the model that was asked. */
  readonly spent?: readonly Spent[]
  /** What went wrong on the way and was got over, for people. */
  readonly problem?: string
  /** Set where nothing could be made to fit: what was tried, for people. */
  readonly exhausted?: string
}

/** Tokens that a model took. */
export interface Spent {
  readonly model: string
  readonly usage: Usage
}

export interface SleepInput {
  readonly place: string
  /** How many attempts have failed: 1 before the first retry. */
  readonly failures: number
  /** Milliseconds that the provider asked for. */
  readonly retryAfterMs?: number
  /** The waits that the settings ask for, by retry, in milliseconds. Default: exponential. */
  readonly delaysMs?: readonly number[]
}

export interface WaitUntilInput {
  readonly place: string
  /** Milliseconds since the start of the run. */
  readonly dueMs: number
}

/** The actors that the chart leaves to be provided, with what goes in and what comes out. */
export interface EffectMap {
  readonly callModel: { readonly input: CallModelInput; readonly output: ModelTurn }
  readonly runTool: { readonly input: RunToolInput; readonly output: ToolAnswer }
  readonly compact: { readonly input: CompactInput; readonly output: Compaction }
  readonly sleep: { readonly input: SleepInput; readonly output: undefined }
  readonly waitUntil: { readonly input: WaitUntilInput; readonly output: undefined }
}

export type EffectKind = keyof EffectMap

/** What answers a tool call. `error` names why it did not succeed; its absence is success. */
export interface ToolAnswer {
  readonly content: string
  readonly error?: string
  /** Tokens that the call spent on models of its own. */
  readonly usage?: Usage
  /** The same, by model, where that is known. */
  readonly usageByModel?: Readonly<Record<string, Usage>>
}
