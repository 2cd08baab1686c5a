import type { Model } from '../models/model.ts'
import { checkCount } from './checkCount.ts'
import type { MemoryFacts } from './memoryFacts.ts'
import { memoryOf, type StrategyMemory } from './strategy.ts'
import { runningSummary, type SummarySizes } from './summary.ts'
import { effectiveLimit, trim } from './trim.ts'

/** The share of the context window that a request may take; the rest is left to the reply. */
const REQUEST_SHARE = 3 / 4

/** The share of a request that stays word for word when older messages are summarised. */
const KEPT_SHARE = 1 / 2

export interface DefaultMemoryOptions {
  /** Summarises what has to be left out. Default: it is left out without a summary. */
  readonly summarizer?: Model
  /** The most tokens that the agent's model takes. Default: what the model says of itself. */
  readonly contextWindow?: number
}

/**
 * What an agent has unless it is given another memory: everything is shown as long as a request takes no more than three
 * quarters of the model's context window; then the oldest exchanges are left out, or summarised where there is a
 * summariser. Where the window is not known, everything is shown until the provider finds it too long; from then on
 * requests keep to half of that.
 *
 * @throws MisuseError `invalid_memory` for a window that is not a whole number of at least 1.
 */
export function defaultMemory({ summarizer, contextWindow }: DefaultMemoryOptions = {}): StrategyMemory {
  if (contextWindow !== undefined)
    checkCount('defaultMemory({ contextWindow }): contextWindow', contextWindow)

  const sizes = (facts: MemoryFacts): SummarySizes => {
    const window = contextWindow ?? facts.contextWindow ?? Number.POSITIVE_INFINITY
    const at = Math.floor(effectiveLimit(window * REQUEST_SHARE, facts))
    return { at, keep: at * KEPT_SHARE }
  }

  if (summarizer !== undefined) {
    return memoryOf(runningSummary({ sizes, model: summarizer, maxTokens: undefined }))
  }
  return memoryOf({
    narrow: (view, _state, facts) => trim(view.within(sizes(facts).at), facts),
  })
}
