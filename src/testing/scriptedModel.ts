import { delay } from '../delay.ts'
import { LoopchartError } from '../errors.ts'
import { type FinishReason, type ModelReply, noUsage, type Usage } from '../messages/reply.ts'
import type { AssistantMessage, ToolCall } from '../messages/types.ts'
import type { Model, ModelIO, ModelRequest } from '../models/model.ts'

/** What a scripted model answers one call with. */
export type ScriptedStep =
  /** A final answer. */
  | string
  /** A reply in detail. */
  | ScriptedReply
  /** Thrown. */
  | Error
  /** Decides from the request. */
  | ((request: ModelRequest, io: ModelIO) => ScriptedStep | Promise<ScriptedStep>)
  /** Never answers, and does not listen to its signal. */
  | typeof HANG

export interface ScriptedReply {
  readonly text?: string
  /** Tool calls; arguments are an object, or JSON text to be sent as it is. */
  readonly calls?: readonly ScriptedCall[]
  /** Default: what fits. */
  readonly finish?: FinishReason
  /** Default: one token in, one out. */
  readonly usage?: Partial<Usage>
  readonly refusal?: string
  /** Milliseconds before the reply comes, by the global timer; an abort cuts the wait short. Default: 0. */
  readonly delayMs?: number
  /** How the text is cut when it is streamed. Default: word by word. */
  readonly pieces?: readonly string[]
  /** Thrown once the text has been streamed: a stream that breaks in the middle. */
  readonly breaksWith?: Error
}

export interface ScriptedCall {
  readonly name: string
  readonly arguments?: unknown
  /** Default: one made from the position in the script. */
  readonly id?: string
}

/** A step that never answers. */
export const HANG: unique symbol = Symbol('hang')

export interface ScriptedModel extends Model {
  /** The requests so far, as they were sent. */
  readonly requests: readonly ModelRequest[]
  /** @throws LoopchartError `script_unfinished` where steps are left over. */
  assertFinished(): void
}

/**
 * A model that follows a script: one step for each call. A call beyond the end of the script fails.
 *
 * @example
 * const model = scriptedModel([{ calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, 'The sum is 3.'])
 */
export function scriptedModel(script: readonly ScriptedStep[]): ScriptedModel {
  const requests: ModelRequest[] = []
  return {
    id: 'scripted',
    requests,
    async generate(request, io) {
      const position = requests.length
      requests.push(request)
      if (position >= script.length) {
        throw new LoopchartError(
          'script_exhausted',
          `The scripted model was called ${position + 1} times, but its script has ${script.length} steps.`,
        )
      }
      let step = script[position] as ScriptedStep
      while (typeof step === 'function') step = await step(request, io)
      if (step === HANG) return new Promise<never>(() => {})
      if (step instanceof Error) throw step
      const reply = typeof step === 'string' ? { text: step } : step
      if (reply.delayMs !== undefined) await delay(reply.delayMs, io.signal)
      return speak(reply, position, io)
    },
    assertFinished() {
      if (requests.length < script.length) {
        throw new LoopchartError(
          'script_unfinished',
          `The scripted model was called ${requests.length} times; ${script.length - requests.length} steps are left.`,
        )
      }
    },
  }
}

function speak(step: ScriptedReply, position: number, { onDelta }: ModelIO): ModelReply {
  const { calls = [], finish, refusal, breaksWith } = step
  const text = step.text ?? step.pieces?.join('') ?? ''
  const pieces = step.pieces ?? text.match(/\S+\s*|\s+/g) ?? []
  for (const piece of pieces) onDelta?.({ text: piece })
  if (breaksWith !== undefined) throw breaksWith
  const toolCalls = calls.map((call, i) => toolCall(call, `call_${position}_${i}`))
  const message: AssistantMessage = {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  }
  return {
    text,
    toolCalls,
    finish: finish ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    usage: { ...noUsage, inputTokens: 1, outputTokens: 1, ...step.usage },
    message,
    ...(refusal === undefined ? {} : { refusal }),
  }
}

function toolCall({ name, arguments: args = {}, id }: ScriptedCall, fallbackId: string): ToolCall {
  return {
    id: id ?? fallbackId,
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  }
}
