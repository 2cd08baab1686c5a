import { fieldsOf, textOf } from '../messages/normalizeReply.ts'

/** A tool call of the turn that is being answered. */
export interface PastCall {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  /** What the tool answered. Missing where nothing did. */
  readonly result?: string
}

/** The question that is to be answered, and what was called for it so far. */
export interface Turn {
  readonly question: string
  readonly calls: readonly PastCall[]
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Finds the newest question. With tools switched off, user messages right after tool results are the loop's notes
 * ("answer now"), so the question is the one before those results.
 */
export function currentTurn(messages: readonly Fields[], toolsOff: boolean): Turn {
  const noted = messages.findLastIndex((message) => message.role !== 'user')
  const endsWithNote = toolsOff && noted >= 0 && messages[noted]?.role === 'tool'
  const conversation = endsWithNote ? messages.slice(0, noted + 1) : messages
  const asked = conversation.findLastIndex((message) => message.role === 'user')
  return {
    question: textOf(conversation[asked]?.content),
    calls: asked < 0 ? [] : callsOf(conversation.slice(asked + 1)),
  }
}

function callsOf(messages: readonly Fields[]): PastCall[] {
  const results = new Map(
    messages
      .filter((message) => message.role === 'tool')
      .map((message) => [message.tool_call_id, textOf(message.content)]),
  )
  return messages.flatMap(toolCallsOf).map((call) => {
    const { name, arguments: args } = fieldsOf(call.function)
    const result = results.get(call.id)
    return {
      tool: typeof name === 'string' ? name : '',
      args: fieldsOf(parsed(args)),
      ...(result === undefined ? {} : { result }),
    }
  })
}

/** The entries of a message's `tool_calls`, none where it has none. */
export function toolCallsOf(message: Fields): readonly Fields[] {
  const calls = message.tool_calls
  return Array.isArray(calls) ? calls.map(fieldsOf) : []
}

/** What JSON text says, `undefined` for anything else. */
export function parsed(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}
