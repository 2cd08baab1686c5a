import type { ModelReply, Usage } from '../messages/reply.ts'
import type { Transcript } from '../messages/transcript.ts'
import type { ToolCall } from '../messages/types.ts'

/**
 * The effects that the chart asks for, as data. Each names its `place` in the run: the same place in every replay,
 * so that a journal can say what has already happened.
 */
export interface CallModelInput {
  readonly place: string
  /** System text that came with the history, for agents that have no instructions of their own. */
  readonly instructions?: string
  readonly transcript: Transcript
  /** State of the memory, as its last compaction left it. */
  readonly memory: unknown
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
  /** Positions of calls whose tools are repeatable. Default: none. */
  readonly repeatable?: readonly number[]
  /** The id of the model that was asked; the reply may name it more exactly. */
  readonly model?: string
  /** The tools that the model was offered, where that is decided step by step. */
  readonly offered?: readonly string[]
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
  readonly transcript: Transcript
  readonly memory: unknown
}

export interface SleepInput {
  readonly place: string
  /** How many attempts have failed: 1 before the first retry. */
  readonly failures: number
  /** Milliseconds that the provider asked for. */
  readonly retryAfterMs?: number
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
  readonly compact: { readonly input: CompactInput; readonly output: unknown }
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
