import type { AgentContext, OpenCall } from '../context.ts'
import { GrowingMap } from './growingMap.ts'
import { isOff, judged, lastOf } from './ladder.ts'
import type { Limit } from './limit.ts'

/** How often each call has been made, by its signature, whatever it brought. */
export type Asked = GrowingMap<number>

export const nothingAsked: Asked = GrowingMap.empty()

/** Counts a call. Where only calls in a row count, any other one forgets those before. */
export function ask(before: Asked, signature: number, inARow: boolean): Asked {
  const counted = inARow && !before.has(signature) ? nothingAsked : before
  return counted.set(signature, (before.get(signature) ?? 0) + 1)
}

/** Takes the calls of a step in: those that were counted when they were made. */
export function askAll(
  before: Asked,
  calls: readonly OpenCall[],
  { inARow = false }: { inARow?: boolean },
): Asked {
  return calls.reduce(
    (asked, open) => (open.asked === undefined ? asked : ask(asked, open.signature, inARow)),
    before,
  )
}

/** The count from which on a call does not run: Infinity where it always does. */
export function firstRefused({ settings: { limits } }: Pick<AgentContext, 'settings'>): number {
  return Math.min(limits.sameCalls.refuse ?? Infinity, lastOf(limits.sameCalls))
}

/** The calls of the last step that were made before, the one that was made most often first. */
export const sameCalls: Limit = ({ progress: { askedAgain }, settings: { limits } }) => {
  const { refuse = Infinity, warn, ...endings } = limits.sameCalls
  if (isOff(limits.sameCalls)) return []
  return askedAgain
    .toSorted((a, b) => b.count - a.count)
    .flatMap(({ tool, count: most }) => {
      const evidenceOf = (count: number): string =>
        `${tool} was called ${count} times with the same arguments`
      // A call that was refused is told of as one that is warned of: the run goes on.
      const mild = most >= refuse ? refuse : warn
      const ladder = { ...endings, ...(mild === undefined ? {} : { warn: mild }) }
      return judged('sameCalls', ladder, most, evidenceOf, tool) ?? []
    })
}
