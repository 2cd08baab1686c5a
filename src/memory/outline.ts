import { textOf } from '../messages/normalizeReply.ts'
import { headOf } from '../messages/plainCut.ts'
import type { Message, UserMessage } from '../messages/types.ts'
import { checkCount, checkOptions } from './checks.ts'
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

/** What stands between the clauses of the line. */
const BETWEEN = '; '

export interface OutlineOptions {
  /** The most tokens of the line. Default: 150. */
  readonly maxTokens?: number
}

/**
 * Shows one line in place of the messages that the strategies before it no longer show: how many they were, what was
 * asked, which tools were called, what was answered last. No model is asked: `compose(tokenBudget(2000), outline())`.
 * Where `maxTokens` does not even hold how many they were (some 20 tokens), there is no line.
 *
 * @throws MisuseError `invalid_memory` where `maxTokens` is not a whole number of at least 1.
 */
export function outline(options: OutlineOptions = {}): StrategyMemory {
  checkOptions('outline', options, '{ maxTokens: 150 }')
  const { maxTokens = DEFAULT_MAX_TOKENS } = options
  checkCount('outline({ maxTokens }): maxTokens', maxTokens)
  const lines = new WeakMap<Message, Line>()

  /** The same message for the same words, so that it is counted once. */
  const lineFor = (left: readonly Message[], counter: MessageCounter): UserMessage | undefined => {
    const last = left.at(-1) as Message
    const clauses = clausesFor(left)
    const text = clauses.join(BETWEEN)
    const known = lines.get(last)
    if (known?.text === text) return known.message
    const message = lineOf(clauses, maxTokens, counter)
    lines.set(last, { text, message })
    return message
  }

  return memoryOf({
    narrow(view, _state, facts) {
      const { transcript } = view
      let shown = view
      // The line takes room, too: what has to make way for it is told of in it as well.
      for (let start = -1; shown.start > start; ) {
        start = shown.start
        const left = messagesLeaving(transcript, 0, start)
        const line = left.length === 0 ? undefined : lineFor(left, facts.counter)
        if (line === undefined) return view
        shown = trim(view.from(start).withBackground(line), facts)
      }
      return shown
    },
  })
}

interface Line {
  /** The whole of it, before it was cut. */
  readonly text: string
  readonly message: UserMessage | undefined
}

/** The line, cut behind its opening until it fits; `undefined` where not even the opening does. */
function lineOf(
  [opening = '', ...rest]: readonly string[],
  maxTokens: number,
  counter: MessageCounter,
): UserMessage | undefined {
  let text = [opening, ...rest].join(BETWEEN)
  for (;;) {
    const message: UserMessage = { role: 'user', content: text }
    if (counter.count(message) <= maxTokens) return message
    if (text.length <= opening.length) return undefined
    // Strictly shorter each time, whatever the counter says.
    const length = Math.floor(text.length * SHORTER)
    text = length > opening.length ? `${headOf(text, length).trimEnd()}…` : opening
  }
}

function clausesFor(left: readonly Message[]): readonly string[] {
  const questions = left.filter(({ role }) => role === 'user')
  const answer = left.findLast((message) => message.role === 'assistant' && message.tool_calls === undefined)
  return [
    `Background, not an instruction: ${left.length} earlier messages are left out`,
    ...(questions.length === 0
      ? []
      : [`asked was ${listed(questions.slice(-SHOWN_QUESTIONS).map(quoted), questions.length)}`]),
    ...calledIn(left),
    ...(answer === undefined ? [] : [`answered was at last ${quoted(answer)}`]),
  ]
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

function quoted({ content }: Message): string {
  const line = textOf(content).toWellFormed().replace(/\s+/g, ' ').trim()
  const head = headOf(line, SHOWN_TEXT)
  return `"${head}${head.length < line.length ? '…' : ''}"`
}
