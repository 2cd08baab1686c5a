import { counted } from './counted.ts'
import { judged } from './ladder.ts'
import type { Limit } from './limit.ts'

export const stagnation: Limit = ({ progress: { isStagnant, stagnantSteps }, settings: { limits } }) =>
  isStagnant ? judged('stagnation', limits.stagnation, stagnantSteps, evidenceOf) : undefined

function evidenceOf(count: number): string {
  return `${counted(count, 'step')} in a row brought nothing that had not been seen before`
}
