import type { Model } from '../models/model.ts'
import { checkCount, checkModel } from './checks.ts'
import type { MemoryFacts } from './memoryFacts.ts'
import { memoryOf, type StrategyMemory } from './strategy.ts'
import { runningSummary, type SummarySizes, tokenThreshold } from './summary.ts'
import { trim } from './trim.ts'

/** The share of the context window that a request may take; the rest is left to the reply. */
const REQUEST_SHARE = 3 / 4

/** The share of the conversation that stays word for word when older messages are summarised. */
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
 * summariser. Where the window is not known, everything is shown until the provider finds it too long; from then on the
 * conversation keeps to half of that.
 *
 * @throws MisuseError `invalid_memory` for a window that is not a whole number of at least 1.
 */
export function defaultMemory({ summarizer, contextWindow }: DefaultMemoryOptions = {}): StrategyMemory {
  if (contextWindow !== undefined)
    checkCount('defaultMemory({ contextWindow }): contextWindow', contextWindow)

  const sizes = (facts: MemoryFacts): SummarySizes => {
    const window = contextWindow ?? facts.contextWindow ?? Number.POSITIVE_INFINITY
    return { at: Math.floor(window * REQUEST_SHARE), keptShare: KEPT_SHARE }
  }

  checkModel('defaultMemory({ summarizer }): summarizer', summarizer)
  if (summarizer !== undefined) {
    return memoryOf(runningSummary({ threshold: tokenThreshold(sizes), model: summarizer }))
  }
  return memoryOf({
    narrow: (view, _state, facts) => trim(view.within(sizes(facts).at), facts),
  })
}
