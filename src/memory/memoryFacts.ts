import type { Message } from '../messages/types.ts'
import { tokenCounter } from './tokens/countTokens.ts'
import { MessageCounter } from './tokens/messageCounter.ts'
import type { TokenCounter } from './tokens/tokenCounter.ts'

/** What a memory may know of the request for which it decides. The same on every replay. */
export interface MemoryFacts {
  /** The id of the agent's model. */
  readonly modelId: string
  /** The most tokens that the model takes, where that is known. */
  readonly contextWindow: number | undefined
  /** Counts messages, each once. */
  readonly counter: MessageCounter
  /** Tokens of what is sent beside the conversation: system message, tools, a note. */
  readonly beside: Beside
  /** How many tokens the provider reported for each that was counted. 1 until it reports. */
  readonly calibration: number
  /** The most tokens, as they are counted, of the conversation, where a refusal of the provider has taught it; else Infinity. */
  readonly ceiling: number
  /** What the tokens of the whole transcript cannot exceed, known without counting them. */
  wholeAtMost(): number
}

/** Tokens of what is sent beside the conversation. */
export interface Beside {
  count(): number
  /** What `count` cannot exceed, known without counting. */
  atMost(): number
}

const nothingBeside: Beside = { count: () => 0, atMost: () => 0 }

/** Facts that a test, or a look at a memory outside of a run, may leave out. */
export type KnownFacts = Partial<Omit<MemoryFacts, 'counter' | 'wholeAtMost'>> & {
  /** Default: that of the model. */
  readonly tokenCounter?: TokenCounter
}

/** The facts for a transcript outside of a run, to look at what a memory would show. */
export function memoryFacts(transcript: readonly Message[], known: KnownFacts = {}): MemoryFacts {
  const { modelId = '', tokenCounter: counted = tokenCounter(modelId) } = known
  const counter = messageCounterOf(counted)
  return {
    modelId,
    contextWindow: known.contextWindow,
    counter,
    beside: known.beside ?? nothingBeside,
    calibration: known.calibration ?? 1,
    ceiling: known.ceiling ?? Number.POSITIVE_INFINITY,
    wholeAtMost: () => transcript.reduce((sum, message) => sum + counter.atMost(message), 0),
  }
}

const counters = new WeakMap<TokenCounter, MessageCounter>()

/** The one counter of messages for a counter of texts, so that agents which share it count a message once. */
export function messageCounterOf(counter: TokenCounter): MessageCounter {
  const known = counters.get(counter) ?? new MessageCounter(counter)
  counters.set(counter, known)
  return known
}
