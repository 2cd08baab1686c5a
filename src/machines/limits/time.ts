import { judged } from './ladder.ts'
import type { Limit } from './limit.ts'

/** Judged after each step; a step that takes too long is ended by the deadlines of the chart. */
export const time: Limit = ({ elapsedMs, settings: { limits } }) =>
  judged('time', limits.time, elapsedMs, evidenceOf)

function evidenceOf(count: number): string {
  return `the run had taken ${Math.round(count)} ms`
}
