export {
  CLEARED_RESULT,
  type ClearOldToolResultsOptions,
  clearOldToolResults,
} from './clearOldToolResults.ts'
export { type DefaultMemoryOptions, defaultMemory } from './defaultMemory.ts'
export { type FactsOptions, facts } from './facts.ts'
export { type Compacted, type CompactIO, type Memory, wholeTranscript } from './memory.ts'
export { type Beside, type KnownFacts, type MemoryFacts, memoryFacts } from './memoryFacts.ts'
export { type OutlineOptions, outline } from './outline.ts'
export { compose, memoryOf, type Strategy, type StrategyMemory } from './strategy.ts'
export { type MessageCount, type SummaryOptions, summary } from './summary.ts'
export { tokenBudget } from './tokenBudget.ts'
export { countTokens, tokenCounter } from './tokens/countTokens.ts'
export type { MessageCounter } from './tokens/messageCounter.ts'
export type { TokenCounter } from './tokens/tokenCounter.ts'
export { ContextExhaustedError } from './trim.ts'
export { turns } from './turns.ts'
export type { View } from './view.ts'
