import type { Message } from '../../../messages/types.ts'

/** What became of a message of the transcript in a request. */
export type Showing = 'whole' | 'shortened' | 'left out'

export interface ShownMessages {
  /** For each message of the transcript. */
  readonly transcript: readonly Showing[]
  /** Positions of what the request has beside the transcript: the system message, notes, a summary. */
  readonly added: readonly number[]
}

/** What a request shows of a transcript. Both are gone through from the end, so the work is linear. */
export function shownIn(transcript: readonly Message[], request: readonly Message[]): ShownMessages {
  const showings: Showing[] = transcript.map(() => 'left out')
  const added: number[] = []
  const positions = new Map<string, number[]>()
  for (const [position, message] of transcript.entries()) {
    const key = keyOf(message)
    const known = positions.get(key)
    if (known === undefined) positions.set(key, [position])
    else known.push(position)
  }
  let end = transcript.length
  for (let i = request.length - 1; i >= 0; i -= 1) {
    const message = request[i] as Message
    const position = positions.get(keyOf(message))?.findLast((known) => known < end)
    const original = position === undefined ? undefined : transcript[position]
    if (position === undefined || original === undefined) {
      added.unshift(i)
      continue
    }
    showings[position] = contentOf(original) === contentOf(message) ? 'whole' : 'shortened'
    end = position
  }
  return { transcript: showings, added }
}

/** What tells a message from others, whether or not it was shortened. */
function keyOf(message: Message): string {
  if (message.role === 'tool') return `tool ${message.tool_call_id}`
  if (message.role === 'assistant' && message.tool_calls !== undefined)
    return `calls ${message.tool_calls.map(({ id }) => id).join(' ')}`
  return `${message.role} ${contentOf(message)}`
}

function contentOf({ content }: Message): string {
  return typeof content === 'string' ? content : JSON.stringify(content)
}
