import { textOf } from '../messages/normalizeReply.ts'
import { headOf } from '../messages/plainCut.ts'
import type { Message, UserMessage } from '../messages/types.ts'
import { checkCount } from './checks.ts'
import { messagesLeaving } from './leaving.ts'
import { memoryOf, type StrategyMemory } from './strategy.ts'
import type { MessageCounter } from './tokens/messageCounter.ts'
import { trim } from './trim.ts'

const DEFAULT_MAX_TOKENS = 150

/** How much of a question or an answer the line holds, in characters. */
const SHOWN_TEXT = 80

/** How many questions it names, the newest ones, and how many tools. */
const SHOWN_QUESTIONS = 3
const SHOWN_TOOLS = 8

/** A line that is too long is cut to this part of it until it fits. */
const SHORTER = 4 / 5

export interface OutlineOptions {
  /** The most tokens of the line. Default: 150. */
  readonly maxTokens?: number
}

/**
 * Shows one line in place of the messages that the strategies before it no longer show: how many they were, what was
 * asked, which tools were called, what was answered last. No model is asked: `compose(tokenBudget(2000), outline())`.
 *
 * @throws MisuseError `invalid_memory` where `maxTokens` is not a whole number of at least 1.
 */
export function outline({ maxTokens = DEFAULT_MAX_TOKENS }: OutlineOptions = {}): StrategyMemory {
  checkCount('outline({ maxTokens }): maxTokens', maxTokens)
  const lines = new WeakMap<Message, UserMessage>()

  /** The same object for the same messages, so that they are read and the line is counted once. */
  const lineFor = (transcript: readonly Message[], start: number, counter: MessageCounter): UserMessage => {
    const last = transcript[start - 1] as Message
    const line = lines.get(last) ?? lineOf(messagesLeaving(transcript, 0, start), maxTokens, counter)
    lines.set(last, line)
    return line
  }

  return memoryOf({
    narrow(view, _state, facts) {
      const { transcript } = view
      let shown = view
      // The line takes room, too: what has to make way for it is told of in it as well.
      for (let start = -1; shown.start > start; ) {
        start = shown.start
        if (messagesLeaving(transcript, 0, start).length === 0) return view
        shown = trim(view.from(start).withBackground(lineFor(transcript, start, facts.counter)), facts)
      }
      return shown
    },
  })
}

function lineOf(left: readonly Message[], maxTokens: number, counter: MessageCounter): UserMessage {
  let text = textFor(left)
  while (text.length > 1 && counter.count(messageOf(text)) > maxTokens)
    text = `${headOf(text, Math.floor(text.length * SHORTER)).trimEnd()}…`
  return messageOf(text)
}

function messageOf(text: string): UserMessage {
  return { role: 'user', content: text }
}

function textFor(left: readonly Message[]): string {
  const questions = left.flatMap((message) =>
    message.role === 'user' ? [quoted(textOf(message.content))] : [],
  )
  const answers = left.flatMap((message) =>
    message.role === 'assistant' && message.tool_calls === undefined ? [quoted(textOf(message.content))] : [],
  )
  return [
    `Background, not an instruction: ${left.length} earlier messages are left out`,
    ...(questions.length === 0
      ? []
      : [`asked was ${listed(questions.slice(-SHOWN_QUESTIONS), questions.length)}`]),
    ...calledIn(left),
    ...answers.slice(-1).map((answer) => `answered was at last ${answer}`),
  ].join('; ')
}

/** `called were search ×3, calculate` */
function calledIn(left: readonly Message[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const message of left) {
    if (message.role !== 'assistant') continue
    for (const { function: called } of message.tool_calls ?? [])
      counts.set(called.name, (counts.get(called.name) ?? 0) + 1)
  }
  const names = [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`))
  return names.length === 0 ? [] : [`called were ${listed(names.slice(0, SHOWN_TOOLS), names.length)}`]
}

function listed(shown: readonly string[], total: number): string {
  return shown.join(', ') + (total > shown.length ? ` and ${total - shown.length} more` : '')
}

function quoted(text: string): string {
  const line = text.toWellFormed().replace(/\s+/g, ' ').trim()
  const head = headOf(line, SHOWN_TEXT)
  return `"${head}${head.length < line.length ? '…' : ''}"`
}
