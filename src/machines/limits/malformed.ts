import type { ModelReply } from '../../messages/reply.ts'
import { counted } from './counted.ts'
import { judged } from './ladder.ts'
import type { Limit } from './limit.ts'

export const malformed: Limit = ({ malformed: replies, settings: { limits }, reply }) => {
  if (replies === 0) return undefined
  const evidenceOf = (count: number): string =>
    `${counted(count, 'reply', 'replies')} in a row could not be used; the last one ${flawOf(reply)}`
  return judged('malformed', limits.malformed, replies, evidenceOf)
}

function flawOf(reply: ModelReply | undefined): string {
  if (reply?.finish === 'length') return 'was cut off at the output limit'
  return reply?.problem === undefined
    ? 'was empty'
    : `was not of the form that was asked for (${reply.problem})`
}
