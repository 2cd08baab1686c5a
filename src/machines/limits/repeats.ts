import { judged } from './ladder.ts'
import type { Limit } from './limit.ts'

/** The calls of the last step that have been repeated, the one that was repeated most first. */
export const repeats: Limit = ({ progress: { repeated }, settings: { limits } }) =>
  repeated
    .toSorted((a, b) => b.count - a.count)
    .flatMap(({ tool, count: most }) => {
      const evidenceOf = (count: number): string =>
        `${tool} was called ${count} times with the same arguments and brought nothing new`
      return judged('repeats', limits.repeats, most, evidenceOf, tool) ?? []
    })
