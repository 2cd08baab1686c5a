import type { Message } from '../../../messages/types.ts'

/** What was said in a message, as text: parts that are no text are named. */
export function userText({ content }: Pick<Message, 'content'>): string {
  if (typeof content === 'string') return content
  if (content === null) return ''
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n')
}
