import type { AgentContext, OpenCall } from '../context.ts'
import { GrowingMap } from './growingMap.ts'
import { isOff, judged, lastOf } from './ladder.ts'
import type { Limit } from './limit.ts'

/** How often each call has been made, by its signature, whatever it brought. */
export type Asked = GrowingMap<number>

export const nothingAsked: Asked = GrowingMap.empty()

interface Counting {
  /** Whether any other call forgets those before. */
  readonly inARow?: boolean
}

/** Counts a call. */
export function ask(before: Asked, signature: number, counting: Counting): Asked {
  return askOther(before, signature, counting).set(signature, (before.get(signature) ?? 0) + 1)
}

/** Takes in a call that is not counted. */
export function askOther(before: Asked, signature: number, { inARow = false }: Counting): Asked {
  return inARow && !before.has(signature) ? nothingAsked : before
}

/** Takes the calls of a step in: counted are those that were when they were made. */
export function askAll(before: Asked, calls: readonly OpenCall[], counting: Counting): Asked {
  return calls.reduce((asked, open) => {
    // What the model asked for counts, not what a person made of it.
    const { asked: count, signature, askedAs = signature } = open
    return count === undefined ? askOther(asked, askedAs, counting) : ask(asked, askedAs, counting)
  }, before)
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
