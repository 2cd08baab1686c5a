import { checkCount } from './checks.ts'
import { memoryOf, type StrategyMemory } from './strategy.ts'
import { trim } from './trim.ts'

/**
 * Holds every request to `tokens` tokens, system message and tools included: the last user message and the newest
 * exchanges that fit are shown. Results of an exchange that is too large on its own are shortened.
 *
 * Where not even the last user message and the newest exchange fit, the run ends as `context_exhausted`.
 *
 * @throws MisuseError `invalid_memory` where `tokens` is not a whole number of at least 1.
 */
export function tokenBudget(tokens: number): StrategyMemory {
  checkCount('tokenBudget(tokens): tokens', tokens)
  return memoryOf({ narrow: (view, _state, facts) => trim(view.within(tokens), facts) })
}
