import { counted } from './counted.ts'
import { judged } from './ladder.ts'
import type { Limit } from './limit.ts'

/**
 * Failures in a row over all tools, or, unless `perTool` is false, those of one tool with one error since its last success:
 * whichever are more.
 */
export const errorStreak: Limit = ({ progress: { failures }, settings: { limits } }) => {
  const { streak, ofLastStep } = failures
  let worst = ofLastStep[0]
  if (worst === undefined) return undefined
  for (const failing of ofLastStep) if (failing.count > worst.count) worst = failing
  const { tool, error, count: most } = worst
  if (streak >= most || limits.errorStreak.perTool === false)
    return judged('errorStreak', limits.errorStreak, streak, evidenceOfStreak)
  const evidenceOf = (count: number): string =>
    `${tool} failed ${count} times with the error "${error}" without a success`
  return judged('errorStreak', limits.errorStreak, most, evidenceOf, tool)
}

function evidenceOfStreak(count: number): string {
  return `${counted(count, 'tool call')} in a row failed`
}
