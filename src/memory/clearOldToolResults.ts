import type { Message, ToolMessage } from '../messages/types.ts'
import { checkCount } from './checks.ts'
import { memoryOf, type StrategyMemory } from './strategy.ts'
import { fits } from './trim.ts'

/** What stands for a result that was cleared. */
export const CLEARED_RESULT = '[This result was cleared to save room. Call the tool again if you need it.]'

export interface ClearOldToolResultsOptions {
  /** How many of the newest tool results stay as they are. Results of one reply that came together count one by one. */
  readonly keep: number
  /** The tokens of a request, system message and tools included, up to which nothing is cleared. Default: 0, always clear. */
  readonly at?: number
}

/**
 * Shows a short note for all tool results but the newest: the model still sees what it did. Results that are no longer
 * than the note stay.
 *
 * @throws MisuseError `invalid_memory` where `keep` is not a whole number of at least 1.
 */
export function clearOldToolResults({ keep, at = 0 }: ClearOldToolResultsOptions): StrategyMemory {
  checkCount('clearOldToolResults({ keep }): keep', keep)
  if (at !== 0) checkCount('clearOldToolResults({ at }): at', at)
  const cleared = new WeakMap<ToolMessage, ToolMessage>()
  const clearedOf = (message: ToolMessage): ToolMessage => {
    const known = cleared.get(message) ?? { ...message, content: CLEARED_RESULT }
    cleared.set(message, known)
    return known
  }
  return memoryOf({
    narrow(view, _state, facts) {
      if (at > 0 && fits(view.within(at), facts)) return view
      const shortened = new Map<number, Message>()
      let left = keep
      for (let i = view.transcript.length - 1; i >= view.start; i--) {
        const message = view.at(i)
        if (message?.role !== 'tool' || left-- > 0) continue
        if (message.content.length > CLEARED_RESULT.length) shortened.set(i, clearedOf(message))
      }
      return view.withShortened(shortened)
    },
  })
}
