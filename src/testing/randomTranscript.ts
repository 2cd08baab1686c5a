import type { Message, ToolCall } from '../messages/types.ts'
import { below, pick, type Random } from './random.ts'

/** Texts of which conversations are made: several scripts, emoji, code, and nothing at all. */
const TEXTS = [
  'What is the weather in Paris?',
  '请帮我查一下北京的天气，然后算一下 15*8+32。',
  '👩‍👩‍👧‍👦 family trip 🏝️ next week?',
  '{"rows":[{"id":1,"name":"Ada"},{"id":2,"name":"Grace"}]}',
  'for (const row of rows) total += row.amount',
  'ok',
  'Привет! Как дела?',
]

/**
 * A conversation that could have happened: turns with parallel calls, huge results, results of cancelled calls, other
 * scripts. Every prefix that ends with a user message or with the last result of an exchange is a request that a run
 * could make.
 */
export function randomTranscript(random: Random, turns: number): readonly Message[] {
  const messages: Message[] = []
  for (let turn = 0; turn < turns; turn++) {
    messages.push({ role: 'user', content: text(random, 3) })
    const exchanges = below(random, 4)
    for (let exchange = 0; exchange < exchanges; exchange++)
      messages.push(...exchangeOf(random, messages.length))
    if (turn < turns - 1 && below(random, 8) > 0)
      messages.push({ role: 'assistant', content: text(random, 4) })
  }
  return messages
}

function exchangeOf(random: Random, position: number): readonly Message[] {
  const calls = Array.from(
    { length: 1 + below(random, 3) },
    (_, i): ToolCall => ({
      id: `call_${position}_${i}`,
      type: 'function',
      function: { name: 'look_up', arguments: JSON.stringify({ query: text(random, 1), page: i }) },
    }),
  )
  const content = below(random, 3) === 0 ? text(random, 1) : null
  return [
    { role: 'assistant', content, tool_calls: calls },
    ...calls.map(({ id }): Message => ({ role: 'tool', tool_call_id: id, content: result(random) })),
  ]
}

function result(random: Random): string {
  switch (below(random, 8)) {
    case 0:
      return ''
    case 1:
      return 'Error (cancelled): the run was stopped before this call was done.'
    case 2:
      return text(random, 200)
    default:
      return text(random, 6)
  }
}

function text(random: Random, most: number): string {
  return Array.from({ length: 1 + below(random, most) }, () => pick(random, TEXTS)).join(' ')
}
