import { isSystem } from './invariants.ts'
import type { AssistantMessage, Message, ToolCall, ToolMessage } from './types.ts'

/** What answers a call whose result is missing from a history that was loaded. */
export const RESULT_NOT_RECORDED = 'The result of this call was not recorded.'

/** A history made sendable. */
export interface RepairedHistory {
  /** The texts of system messages, in order: the caller decides what becomes of them. */
  readonly instructions: readonly string[]
  /** Everything else, fit to be sent. */
  readonly messages: readonly Message[]
  /** What was mended, for a log. Empty where nothing was wrong. */
  readonly notes: readonly string[]
}

/**
 * Makes any stored history sendable: histories come from databases, from crashes, from other libraries. Calls and
 * results are paired by position, so a history that repeats ids is read as it was meant.
 */
export function repairHistory(history: readonly Message[]): RepairedHistory {
  const repair = new Repair()
  for (const message of history) repair.add(message)
  return repair.finish()
}

class Repair {
  readonly #instructions: string[] = []
  readonly #messages: Message[] = []
  readonly #notes: string[] = []
  readonly #usedIds = new Set<string>()
  /** Calls that wait for their result: the id they came with, and the id under which they are sent. */
  #open: { readonly original: string; readonly id: string; result?: string }[] = []

  add(message: Message): void {
    if (message.role === 'tool') {
      this.#addResult(message)
      return
    }
    this.#closeExchange()
    if (isSystem(message)) {
      this.#instructions.push(wellFormed(message.content) as string)
    } else if (message.role === 'assistant') {
      this.#addAssistant(message)
    } else if (message.content.length === 0) {
      this.#notes.push(`an empty ${message.role} message was left out`)
    } else {
      this.#messages.push(wellFormed(message) as Message)
    }
  }

  finish(): RepairedHistory {
    this.#closeExchange()
    return { instructions: this.#instructions, messages: this.#messages, notes: this.#notes }
  }

  #addAssistant(message: AssistantMessage): void {
    const calls = message.tool_calls ?? []
    if ((message.content ?? '') === '' && calls.length === 0) {
      this.#notes.push('an empty assistant message was left out')
      return
    }
    if (calls.length === 0) {
      const { tool_calls: _none, ...rest } = message
      this.#messages.push(wellFormed(rest) as Message)
      return
    }
    const sendable = calls.map((call) => this.#sendableCall(call))
    this.#messages.push(wellFormed({ ...message, tool_calls: sendable }) as Message)
    this.#open = sendable.map((call, i) => ({ original: calls[i]?.id ?? '', id: call.id }))
  }

  #sendableCall(call: ToolCall): ToolCall {
    const id = uniqueId(call.id, `call_${this.#messages.length}`, (used) => this.#usedIds.has(used))
    this.#usedIds.add(id)
    if (id !== call.id) this.#notes.push(`call id ${JSON.stringify(call.id)} was replaced by ${id}`)
    const args = sendableArguments(call.function.arguments)
    if (args !== call.function.arguments) this.#notes.push(`the arguments of call ${id} were not JSON text`)
    return { id, type: 'function', function: { name: call.function.name, arguments: args } }
  }

  #addResult(message: ToolMessage): void {
    const call = this.#open.find(
      (candidate) => candidate.result === undefined && candidate.original === message.tool_call_id,
    )
    if (call === undefined) {
      this.#notes.push(
        `the result for ${JSON.stringify(message.tool_call_id)} answers no call and was left out`,
      )
    } else {
      call.result =
        typeof message.content === 'string' ? message.content : (JSON.stringify(message.content) ?? '')
    }
  }

  #closeExchange(): void {
    for (const { id, result } of this.#open) {
      if (result === undefined) this.#notes.push(`call ${id} had no result`)
      this.#messages.push({
        role: 'tool',
        tool_call_id: id,
        content: (result ?? RESULT_NOT_RECORDED).toWellFormed(),
      })
    }
    this.#open = []
  }
}

/** The id itself where it is new, else one derived from `fallback`. */
export function uniqueId(id: unknown, fallback: string, isUsed: (id: string) => boolean): string {
  let candidate = typeof id === 'string' && id !== '' ? id : fallback
  for (let n = 2; isUsed(candidate); n++) candidate = `${fallback}_${n}`
  return candidate
}

/** Arguments as a provider takes them back: JSON text. Text that is not JSON becomes `{}`. */
export function sendableArguments(args: unknown): string {
  if (typeof args !== 'string') return JSON.stringify(args ?? {})
  try {
    JSON.parse(args)
    return args
  } catch {
    return '{}'
  }
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, wellFormed(entry)]))
}
