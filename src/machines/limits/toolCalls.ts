import { counted } from './counted.ts'
import { judged } from './ladder.ts'
import type { Limit } from './limit.ts'

export const toolCalls: Limit = ({ toolCalls: executed, settings: { limits } }) =>
  judged('toolCalls', limits.toolCalls, executed, evidenceOf)

function evidenceOf(count: number): string {
  return `${counted(count, 'tool call')} ${count === 1 ? 'was' : 'were'} executed`
}
