import { checkCount } from './checks.ts'
import { memoryOf, type StrategyMemory } from './strategy.ts'

/**
 * Shows the last `count` turns. A turn is a user message with everything up to the next one.
 *
 * @throws MisuseError `invalid_memory` where `count` is not a whole number of at least 1.
 */
export function turns(count: number): StrategyMemory {
  checkCount('turns(count): count', count)
  return memoryOf({
    narrow(view) {
      const { transcript } = view
      let left = count
      for (let i = transcript.length - 1; i > view.start; i--) {
        if (transcript[i]?.role === 'user' && --left === 0) return view.from(i)
      }
      return view
    },
  })
}
