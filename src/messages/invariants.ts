import { isToolName, isWellFormed } from './sendable.ts'
import type { Message, ToolCall } from './types.ts'

/** The rules that providers hold a request's messages to. */
export type Rule =
  | 'system_first'
  | 'call_unanswered'
  | 'result_without_call'
  | 'result_out_of_order'
  | 'id_empty'
  | 'id_repeated'
  | 'arguments_not_json'
  | 'name_invalid'
  | 'ill_formed_unicode'
  | 'empty_message'
  | 'no_user_message'

export interface Violation {
  /** Index of the offending message. */
  readonly index: number
  readonly rule: Rule
  readonly message: string
}

/**
 * Checks what every provider demands of a request's messages: at most one system message, at the beginning; each
 * tool call answered exactly once, in order, right after its assistant message; ids unique and never empty;
 * arguments valid JSON text; tool names of the accepted form; well-formed Unicode; nothing empty where it may not be; something to answer.
 */
export function findViolations(messages: readonly Message[]): readonly Violation[] {
  const found: Violation[] = []
  const seenIds = new Set<string>()
  let open: readonly ToolCall[] = []
  const report = (index: number, rule: Rule, message: string): void => {
    found.push({ index, rule, message })
  }
  const closeExchange = (index: number): void => {
    for (const call of open) report(index, 'call_unanswered', `tool call ${call.id} has no tool message`)
    open = []
  }

  messages.forEach((message, index) => {
    if (message.role === 'tool') {
      const [expected, ...rest] = open
      if (expected === undefined) {
        report(index, 'result_without_call', `tool message for ${message.tool_call_id} answers no open call`)
      } else if (expected.id === message.tool_call_id) {
        open = rest
      } else {
        report(index, 'result_out_of_order', `expected the result of ${expected.id}`)
        open = open.filter((call) => call.id !== message.tool_call_id)
      }
    } else {
      closeExchange(index)
    }
    if (isSystem(message) && index > 0) {
      report(index, 'system_first', 'only the first message may be a system message')
    }
    if (message.role === 'assistant') {
      open = message.tool_calls ?? []
      for (const call of open) {
        if (call.id === '') report(index, 'id_empty', `the call of ${call.function.name} has no id`)
        else if (seenIds.has(call.id)) report(index, 'id_repeated', `call id ${call.id} was used before`)
        seenIds.add(call.id)
        if (!isToolName(call.function.name)) {
          report(index, 'name_invalid', `call ${call.id} has a tool name that providers refuse`)
        }
        if (!isJson(call.function.arguments)) {
          report(index, 'arguments_not_json', `the arguments of call ${call.id} are not JSON text`)
        }
      }
    }
    if (isEmpty(message)) report(index, 'empty_message', `the ${message.role} message is empty`)
    if (!isWellFormed(message))
      report(index, 'ill_formed_unicode', `the ${message.role} message has a lone surrogate`)
  })
  closeExchange(messages.length)
  if (!messages.some((message) => message.role === 'user')) {
    report(messages.length, 'no_user_message', 'there is no user message to answer')
  }
  return found
}

export function isSystem(message: Message): boolean {
  return message.role === 'system' || message.role === 'developer'
}

function isEmpty(message: Message): boolean {
  const { content } = message
  const isText = typeof content === 'string'
  switch (message.role) {
    case 'assistant':
      return !(isText && content !== '') && (content !== null || (message.tool_calls ?? []).length === 0)
    case 'tool':
      // An empty result is a legitimate answer: a tool may return the empty string.
      return !isText
    case 'user':
      return !(isText || Array.isArray(content)) || content.length === 0
    default:
      return !isText || content === ''
  }
}

function isJson(text: unknown): boolean {
  if (typeof text !== 'string') return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
