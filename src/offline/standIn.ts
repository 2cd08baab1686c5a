import { fieldsOf } from '../messages/fields.ts'
import type { ToolCall } from '../messages/types.ts'
import { describeCall, describeGap, introduction } from './answers.ts'
import { currentTurn, type Turn, toolCallsOf } from './turn.ts'
import { keyOf, type Language, languageOf, understand } from './understand.ts'
import type { Want } from './wants.ts'

type Fields = Readonly<Record<string, unknown>>

/** What the stand-in says: text, or the tools it asks for. */
export interface StandInReply {
  /** `''` where there are tool calls. */
  readonly text: string
  readonly toolCalls: readonly ToolCall[]
}

/**
 * Plays a language model for questions about weather, arithmetic, time and units, in English and Chinese. The same
 * request always gets the same reply. Takes the body of a chat-completions request, and any other JSON without
 * throwing.
 *
 * It asks only for tools that the request offers, and for each thing once in a turn. `tool_choice` can switch tools
 * off or limit it to one; `parallel_tool_calls: false` makes it ask for one tool at a time.
 */
export function replyTo(body: unknown): StandInReply {
  const request = fieldsOf(body)
  const messages = Array.isArray(request.messages) ? request.messages.map(fieldsOf) : []
  const usable = usableTools(request)
  const turn = currentTurn(messages, usable.size === 0)
  const wants = understand(turn.question)
  const called = new Set(turn.calls.map((call) => keyOf(call.tool, call.args)))
  const open = wants.filter((want) => !called.has(keyOf(want.tool, want.args)))
  const askable = open.filter((want) => want.args !== undefined && usable.has(want.tool))
  if (askable.length > 0) {
    const now = request.parallel_tool_calls === false ? askable.slice(0, 1) : askable
    return { text: '', toolCalls: callsFor(now, messages) }
  }
  return { text: answer(turn, open, languageOf(turn.question)), toolCalls: [] }
}

function answer(turn: Turn, open: readonly Want[], language: Language): string {
  const sentences = [
    ...turn.calls.map((call) => describeCall(call, language)),
    ...open.map((want) => describeGap(want, language)),
  ]
  if (sentences.length === 0) return introduction(language)
  return sentences.join(language === 'zh' ? '' : ' ')
}

/** Names of the tools that the request offers and `tool_choice` allows. */
function usableTools(request: Fields): ReadonlySet<unknown> {
  const choice = request.tool_choice
  if (choice === 'none' || !Array.isArray(request.tools)) return new Set()
  const offered = request.tools.map((tool) => fieldsOf(fieldsOf(tool).function).name)
  const forced = fieldsOf(fieldsOf(choice).function).name
  return new Set(forced === undefined ? offered : offered.filter((name) => name === forced))
}

/** Ids come from the conversation's length, counted on past those that a shortened history still holds. */
function callsFor(wants: readonly Want[], messages: readonly Fields[]): ToolCall[] {
  const used = new Set(messages.flatMap(toolCallsOf).map((call) => call.id))
  const idAt = (turn: number, position: number): string => `call_${turn}_${position + 1}`
  let turn = messages.length
  while (wants.some((_, position) => used.has(idAt(turn, position)))) turn += 1
  return wants.map((want, position) => ({
    id: idAt(turn, position),
    type: 'function',
    function: { name: want.tool, arguments: JSON.stringify(want.args) },
  }))
}
