import { judged } from './ladder.ts'
import type { Limit } from './limit.ts'

/** The call of the last step that has been repeated most. */
export const repeats: Limit = ({ progress: { repeated }, settings: { limits } }) => {
  let worst = repeated[0]
  if (worst === undefined) return undefined
  for (const call of repeated) if (call.count > worst.count) worst = call
  const { tool, count: most } = worst
  const evidenceOf = (count: number): string =>
    `${tool} was called ${count} times with the same arguments and brought nothing new`
  return judged('repeats', limits.repeats, most, evidenceOf, tool)
}
