import { counted } from './counted.ts'
import { judged } from './ladder.ts'
import type { Limit } from './limit.ts'

export const steps: Limit = ({ step, settings: { limits } }) =>
  judged('steps', limits.steps, step, evidenceOf)

function evidenceOf(count: number): string {
  return `after ${counted(count, 'model call')} the model still asked for tools or gave no answer`
}
