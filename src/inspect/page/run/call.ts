import type { ErrorInfo } from '../../../errors.ts'
import type { ModelReply } from '../../../messages/reply.ts'
import type { ModelRequest } from '../../../models/model.ts'

/** Something of a run that takes time: a bar of the waterfall. */
export type Call = ModelCall | ToolCall | Pause | Compaction

interface CallFacts {
  /** The effect's place in the run, such as `model.3.1`. */
  readonly place: string
  /** The index of the event with which it began: what tells it from all others. */
  readonly index: number
  /** Milliseconds of the run, without the time in which nobody was at work on it. */
  readonly from: number
  /** Absent while it goes on. */
  readonly to?: number
  /** The index of the event with which it ended. */
  readonly endIndex?: number
  readonly status: 'running' | 'done' | 'failed'
}

export interface ModelCall extends CallFacts {
  readonly kind: 'model'
  readonly closing: boolean
  readonly request?: ModelRequest
  /** The index of the event that tells all of the request, where `request` lacks its messages and tools. */
  readonly abridgedAt?: number
  /** Tokens of the request, where they were counted before it was sent. */
  readonly requestTokens?: number
  /** How many messages the transcript had when it was asked. */
  readonly transcriptLength: number
  /** What has been streamed of the reply. */
  readonly text: string
  /** Whether text was shown that turned out to be void. */
  readonly isVoid: boolean
  readonly reply?: ModelReply
  readonly error?: ErrorInfo
  readonly durationMs?: number
}

export interface ToolCall extends CallFacts {
  readonly kind: 'tool'
  readonly callId: string
  readonly name: string
  readonly arguments: string
  readonly content?: string
  /** Why the call did not succeed. */
  readonly error?: string
  readonly durationMs?: number
  /** What it told last while it was at work, and how often it told something. */
  readonly progress?: unknown
  readonly progressCount: number
  readonly retries: readonly ToolRetry[]
}

export interface ToolRetry {
  readonly failures: number
  readonly delayMs: number
  readonly message: string
}

/** The wait before a model is asked again. */
export interface Pause extends CallFacts {
  readonly kind: 'pause'
  readonly delayMs: number
  readonly failures: number
}

export interface Compaction extends CallFacts {
  readonly kind: 'compaction'
  readonly tokensBefore?: number
  readonly tokensAfter?: number
  readonly problem?: string
  readonly exhausted?: string
  readonly durationMs?: number
}

/** The step to which a model call or a tool call belongs, counted from 1; undefined for all others. */
export function stepOf(place: string): number | undefined {
  const step = /^(?:model|tool)\.(\d+)\./.exec(place)?.[1]
  return step === undefined ? undefined : Number(step)
}
