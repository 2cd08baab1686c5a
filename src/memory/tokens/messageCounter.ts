import { isFields } from '../../messages/fields.ts'
import type { Message, ToolSpec } from '../../messages/types.ts'
import { tokenCounter } from './countTokens.ts'
import { messageTokens } from './messageTokens.ts'
import type { TokenCounter } from './tokenCounter.ts'
import { TOOLS_OVERHEAD, toolTokens } from './toolTokens.ts'

/**
 * Tokens that each request costs beside its messages and tools: the reply is primed with them. From OpenAI's "How to
 * count tokens with tiktoken", https://developers.openai.com/cookbook/examples/how_to_count_tokens_with_tiktoken
 */
export const REQUEST_OVERHEAD: number = 3

/**
 * Tokens of messages and tool schemas, as a request carries them. Each object is counted once and known by its
 * identity, so a message that is changed after it was counted keeps its number. Never throws, whatever a message holds.
 *
 * The overheads are OpenAI's. Other providers write messages and tools in other ways, so there it is an estimate.
 */
export class MessageCounter {
  readonly counter: TokenCounter
  readonly #counts = new WeakMap<object, number>()
  readonly #bounds = new WeakMap<object, number>()
  readonly #tools = new WeakMap<object, number>()
  readonly #toolBounds = new WeakMap<object, number>()

  constructor(counter: TokenCounter) {
    this.counter = counter
  }

  /** Tokens of a message: its texts, its calls, its other fields and what surrounds it. See `messageTokens`. */
  count(message: Message): number {
    return once(this.#counts, message, () => messageTokens(message, (text) => this.counter.count(text)))
  }

  /** Tokens of several messages. */
  countAll(messages: readonly Message[]): number {
    return messages.reduce((sum, message) => sum + this.count(message), 0)
  }

  /**
   * A bound that `count` never exceeds, found without counting where the counter has one, else `count` itself. It is the
   * same whether or not the message has been counted before. One function for the life of the counter, so that a
   * transcript can keep the sums of it.
   */
  readonly atMost: (message: Message) => number = (message) => {
    const atMost = this.counter.atMost?.bind(this.counter)
    if (atMost === undefined) return this.count(message)
    return once(this.#bounds, message, () => messageTokens(message, atMost))
  }

  /** Tokens of the tools that a request offers, 0 where it offers none. See `toolTokens`. */
  tools(specs: readonly ToolSpec[]): number {
    return this.#toolsBy((text) => this.counter.count(text), specs, this.#tools)
  }

  /** A bound that `tools` never exceeds, found without counting where the counter has one. */
  toolsAtMost(specs: readonly ToolSpec[]): number {
    const atMost = this.counter.atMost?.bind(this.counter)
    return atMost === undefined ? this.tools(specs) : this.#toolsBy(atMost, specs, this.#toolBounds)
  }

  #toolsBy(
    count: (text: string) => number,
    specs: readonly ToolSpec[],
    known: WeakMap<object, number>,
  ): number {
    if (specs.length === 0) return 0
    const isOlder = this.counter === tokenCounter('gpt-4')
    return specs.reduce(
      (sum, spec) => sum + once(known, spec, () => toolTokens(spec, isOlder, count)),
      TOOLS_OVERHEAD,
    )
  }
}

/** What `count` says of an object the first time. */
function once(known: WeakMap<object, number>, object: object, count: () => number): number {
  // What is no object cannot be remembered: transcripts come from anywhere.
  if (!isFields(object)) return count()
  const before = known.get(object)
  if (before !== undefined) return before
  const tokens = count()
  known.set(object, tokens)
  return tokens
}
