import { fieldsOf } from './fields.ts'
import { textOf } from './normalizeReply.ts'
import { sendableCall, uniqueId, wellFormed } from './sendable.ts'
import type { AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage } from './types.ts'

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
    const { role } = fieldsOf(message)
    if (role !== 'tool') this.#closeExchange()
    switch (role) {
      case 'tool':
        this.#addResult(message as ToolMessage)
        break
      case 'assistant':
        this.#addAssistant(message as AssistantMessage)
        break
      case 'user':
      case 'system':
      case 'developer':
        this.#addText(message as UserMessage | SystemMessage)
        break
      default:
        this.#notes.push(`a message with the unknown role ${JSON.stringify(role)} was left out`)
    }
  }

  #addText(message: UserMessage | SystemMessage): void {
    const { content } = message
    const text = textOf(content)
    const isEmpty = Array.isArray(content) ? content.length === 0 : text === ''
    if (isEmpty || (message.role !== 'user' && text === '')) {
      this.#notes.push(`an empty ${message.role} message was left out`)
    } else if (message.role === 'user') {
      this.#messages.push(wellFormed(message))
    } else {
      this.#instructions.push(text.toWellFormed())
    }
  }

  finish(): RepairedHistory {
    this.#closeExchange()
    return { instructions: this.#instructions, messages: this.#messages, notes: this.#notes }
  }

  #addAssistant({ tool_calls: given, ...message }: AssistantMessage): void {
    const calls = (Array.isArray(given) ? given : []).filter(isFunctionCall)
    const text = textOf(message.content)
    if (Array.isArray(given) && calls.length < given.length) {
      this.#notes.push('calls of another kind than functions were left out')
    }
    if (text === '' && calls.length === 0) {
      this.#notes.push('an empty assistant message was left out')
      return
    }
    const content = text === '' ? null : text
    if (calls.length === 0) {
      this.#messages.push(wellFormed({ ...message, content }))
      return
    }
    const sendable = calls.map((call, i) => this.#sendableCall(call, i))
    this.#messages.push(wellFormed({ ...message, content, tool_calls: sendable }))
    this.#open = sendable.map((call, i) => ({ original: calls[i]?.id ?? '', id: call.id }))
  }

  #sendableCall(call: ToolCall, position: number): ToolCall {
    const fallback = `call_${this.#messages.length}_${position}`
    const id = uniqueId(call.id, fallback, (used) => this.#usedIds.has(used))
    this.#usedIds.add(id)
    if (id !== call.id) this.#notes.push(`call id ${JSON.stringify(call.id)} was replaced by ${id}`)
    const sendable = sendableCall({ ...call, id })
    if (sendable.function.arguments !== call.function.arguments) {
      this.#notes.push(`the arguments of call ${id} were not JSON text`)
    }
    if (sendable.function.name !== call.function.name) {
      this.#notes.push(`the tool name of call ${id} was not one that providers take`)
    }
    return sendable
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

function isFunctionCall(call: unknown): boolean {
  return typeof fieldsOf(fieldsOf(call).function).name === 'string'
}
