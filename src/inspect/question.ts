import type { Message } from '../messages/types.ts'

/** Characters of a question that are shown in a list. */
const SHOWN = 200

/** The last question of a conversation in one line, shortened. */
export function questionIn(messages: readonly Message[]): string | undefined {
  const asked = messages.findLast(({ role }) => role === 'user')
  if (asked === undefined) return undefined
  const { content } = asked
  const text =
    typeof content === 'string'
      ? content
      : (content ?? []).map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join(' ')
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= SHOWN ? line : `${line.slice(0, SHOWN - 1).toWellFormed()}…`
}
