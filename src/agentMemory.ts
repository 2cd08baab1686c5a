import { LoopchartError, messageOf } from './errors.ts'
import type { AgentContext } from './machines/context.ts'
import type { CallModelInput, CompactInput, Compaction, CountedTokens, Spent } from './machines/effects.ts'
import type { MemoryState } from './machines/memoryState.ts'
import type { Compacted, Memory } from './memory/memory.ts'
import { type Beside, type MemoryFacts, messageCounterOf } from './memory/memoryFacts.ts'
import { type MessageCounter, REQUEST_OVERHEAD } from './memory/tokens/messageCounter.ts'
import type { TokenCounter } from './memory/tokens/tokenCounter.ts'
import { soundUsage } from './messages/soundReply.ts'
import type { Transcript } from './messages/transcript.ts'
import type { Message, SystemMessage, ToolSpec } from './messages/types.ts'
import type { Model } from './models/model.ts'
import { hush, within } from './thenables.ts'

export interface AgentMemoryParts {
  readonly memory: Memory
  readonly model: Model
  readonly tokenCounter: TokenCounter
  readonly instructions: string | undefined
  /** What the system message says of the form of the answer. */
  readonly outputInstructions: string | undefined
  /** The tools that a run which begins now is offered, as far as that is known beforehand. */
  readonly tools: () => readonly ToolSpec[]
  /** Milliseconds after which a compaction is given up. */
  readonly timeoutMs: number
}

/** What is sent, and its tokens where they were counted. */
export interface ShownMessages {
  readonly messages: readonly Message[]
  readonly counted?: CountedTokens
}

interface Told extends Pick<AgentContext, 'transcript' | 'memory'> {
  /** System text that came with the history. */
  readonly instructions?: string | undefined
}

/** The part of a known conversation that is given up where a provider finds it too long. */
const GIVEN_UP = 1 / 2

/** How often models are asked in one compaction at most: by two strategies, twice each. */
const MODELS_ASKED = 4

/** An agent's memory together with what it has to know of the agent. */
export class AgentMemory {
  readonly #parts: AgentMemoryParts
  readonly #counter: MessageCounter
  #system: { readonly given: string | undefined; readonly message: SystemMessage | undefined } | undefined

  constructor(parts: AgentMemoryParts) {
    this.#parts = parts
    this.#counter = messageCounterOf(parts.tokenCounter)
  }

  /** Whether there is anything to be done about a conversation that is too long. */
  get canMakeRoom(): boolean {
    return this.#parts.memory.compact !== undefined
  }

  /** The messages of a request: the system message, what the memory shows, and a note. */
  show({ note, ...told }: CallModelInput, specs: readonly ToolSpec[]): ShownMessages {
    const system = this.#systemMessage(told.instructions)
    const last: readonly Message[] = note === undefined ? [] : [{ role: 'user', content: note }]
    const around = [...(system === undefined ? [] : [system]), ...last]
    const beside = new CountedBeside(around, specs, this.#counter)
    const facts = this.#facts(told, beside)
    const shown = this.#view(told, facts)
    const messages = [...(system === undefined ? [] : [system]), ...shown, ...last]
    if (!beside.wasCounted) return { messages }
    return {
      messages,
      counted: { total: beside.count() + this.#counter.countAll(shown), beside: beside.count() },
    }
  }

  /**
   * Whether room has to be made before the next model call. Total, as guards are: a memory that fails to answer is taken
   * to have room, and the provider has the last word.
   */
  needsRoom(context: Told): boolean {
    const { memory } = this.#parts
    if (memory.needsCompaction === undefined) return false
    try {
      const facts = this.#factsBeforehand(context)
      const answer: unknown = memory.needsCompaction(
        context.transcript.toArray(),
        context.memory.state,
        facts,
      )
      // A memory in plain JavaScript may give back a promise, which says nothing here and must not reject unheard.
      hush(answer)
      return answer === true
    } catch {
      return false
    }
  }

  /** What the memory shows. What it throws is told as its own, not as the model's. */
  #view({ transcript, memory }: Told, facts: MemoryFacts): readonly Message[] {
    try {
      return this.#parts.memory.view(transcript.toArray(), memory.state, facts)
    } catch (thrown) {
      if (thrown instanceof LoopchartError) throw thrown
      throw new LoopchartError('memory_failed', `The memory threw: ${messageOf(thrown)}`, { cause: thrown })
    }
  }

  /** The effect `compact`. Never fails for what a memory does. */
  async compact(
    input: CompactInput,
    { signal, stop }: { readonly signal: AbortSignal; readonly stop?: (reason: unknown) => void },
  ): Promise<Compaction> {
    const { model } = this.#parts
    const { memory: held, tooLong } = input
    const before = this.#factsBeforehand(input)
    const sizeBefore = this.#sizeOf(input, held.state, before)
    const sent =
      'tokens' in sizeBefore
        ? sizeBefore.tokens
        : before.beside.count() + this.#counter.countAll(input.transcript.toArray())
    const tokensBefore = Math.ceil(sent * held.calibration)
    // What is sent beside the conversation cannot be given up.
    const ceiling = tooLong ? Math.floor((sent - before.beside.count()) * GIVEN_UP) : held.ceiling
    const facts: MemoryFacts = ceiling === undefined ? before : { ...before, ceiling }
    const compacted = await this.#compacted(
      input,
      { ...facts, signal, agentModel: model, timeoutMs: this.#parts.timeoutMs },
      stop,
    )
    const state = this.#isOfUse(input, compacted.state, { facts, sent }) ? compacted.state : held.state
    const problem = state === compacted.state ? compacted.problem : (compacted.problem ?? MADE_NO_ROOM)
    const after = this.#sizeOf(input, state, facts)
    const tokensAfter = 'tokens' in after ? Math.ceil(after.tokens * held.calibration) : tokensBefore
    const exhausted =
      'exhausted' in after ? after.exhausted : stillTooLong(tooLong, tokensBefore, tokensAfter)
    return {
      state,
      tokensBefore,
      tokensAfter,
      ...(ceiling === undefined ? {} : { ceiling }),
      ...(compacted.spent === undefined ? {} : { spent: compacted.spent }),
      ...(problem === undefined ? {} : { problem }),
      ...(exhausted === undefined ? {} : { exhausted }),
    }
  }

  async #compacted(
    { transcript, memory: { state } }: CompactInput,
    io: Parameters<NonNullable<Memory['compact']>>[2],
    stop: ((reason: unknown) => void) | undefined,
  ): Promise<Compacted> {
    const { memory } = this.#parts
    const timeoutMs = this.#parts.timeoutMs * MODELS_ASKED
    if (memory.compact === undefined) return { state }
    try {
      const late = (): Error => {
        const error = new Error(`the compaction was not done within ${timeoutMs} ms`)
        stop?.(error)
        return error
      }
      const compacting = memory.compact(transcript.toArray(), state, io)
      const compacted = await within(timeoutMs, compacting, late, io.signal)
      // It is journaled: what JSON would lose must be lost now, so that a replay sees the same.
      return { ...compacted, state: plain(compacted.state), spent: soundSpent(compacted.spent) }
    } catch (thrown) {
      return { state, problem: `The compaction failed: ${messageOf(thrown)}` }
    }
  }

  /** A compaction that made things larger and still wants room would be repeated with every step. */
  #isOfUse(
    input: CompactInput,
    state: unknown,
    { facts, sent }: { readonly facts: MemoryFacts; readonly sent: number },
  ): boolean {
    // One that is made of strategies keeps within its limit whatever it holds, and facts take room, too.
    if ('strategy' in this.#parts.memory) return true
    const after = this.#sizeOf(input, state, facts)
    if (!('tokens' in after) || after.tokens < sent) return true
    return !this.needsRoom({ ...input, memory: { ...input.memory, state } })
  }

  /** Tokens of the request that the memory would show, as they are counted. */
  #sizeOf(
    { transcript }: Told,
    state: unknown,
    facts: MemoryFacts,
  ): { readonly tokens: number } | { readonly exhausted: string } {
    try {
      const shown = this.#parts.memory.view(transcript.toArray(), state, facts)
      return { tokens: facts.beside.count() + this.#counter.countAll(shown) }
    } catch (thrown) {
      return { exhausted: messageOf(thrown) }
    }
  }

  /** The facts where the next request is not made yet: what the last one sent beside the conversation stands for it. */
  #factsBeforehand(told: Told): MemoryFacts {
    const { beside } = told.memory
    if (beside !== undefined) return this.#facts(told, { count: () => beside, atMost: () => beside })
    const system = this.#systemMessage(told.instructions)
    const around = system === undefined ? [] : [system]
    return this.#facts(told, new CountedBeside(around, this.#parts.tools(), this.#counter))
  }

  #facts(
    { transcript, memory }: { transcript: Transcript; memory: MemoryState },
    beside: Beside,
  ): MemoryFacts {
    const { model } = this.#parts
    const counter = this.#counter
    return {
      modelId: model.id,
      contextWindow: model.contextWindow,
      counter,
      beside,
      calibration: memory.calibration,
      ceiling: memory.ceiling ?? Number.POSITIVE_INFINITY,
      wholeAtMost: () => transcript.sum(counter.atMost),
    }
  }

  /** The same object for the same text, so that it is counted once. */
  #systemMessage(given: string | undefined): SystemMessage | undefined {
    if (this.#system !== undefined && this.#system.given === given) return this.#system.message
    const { instructions, outputInstructions } = this.#parts
    const content = [instructions || given, outputInstructions].filter(Boolean).join('\n\n')
    const message: SystemMessage | undefined = content === '' ? undefined : { role: 'system', content }
    this.#system = { given, message }
    return message
  }
}

/** Counts what is sent beside the conversation, once, and only where a memory wants to know. */
class CountedBeside implements Beside {
  readonly #messages: readonly Message[]
  readonly #specs: readonly ToolSpec[]
  readonly #counter: MessageCounter
  #count: number | undefined

  constructor(messages: readonly Message[], specs: readonly ToolSpec[], counter: MessageCounter) {
    this.#messages = messages
    this.#specs = specs
    this.#counter = counter
  }

  get wasCounted(): boolean {
    return this.#count !== undefined
  }

  count(): number {
    this.#count ??=
      REQUEST_OVERHEAD + this.#counter.tools(this.#specs) + this.#counter.countAll(this.#messages)
    return this.#count
  }

  atMost(): number {
    const counter = this.#counter
    return (
      REQUEST_OVERHEAD +
      counter.toolsAtMost(this.#specs) +
      this.#messages.reduce((sum, message) => sum + counter.atMost(message), 0)
    )
  }
}

const MADE_NO_ROOM = 'The compaction made no room, and what it came to was dropped.'

function stillTooLong(tooLong: boolean, before: number, after: number): string | undefined {
  if (!tooLong || after < before) return undefined
  return (
    `the provider found a request of about ${before} tokens too long, and the memory, told to keep to half of that, ` +
    'could not show less'
  )
}

/** What a memory of the user's own says it spent, as far as that can be added up. */
function soundSpent(spent: readonly Spent[] = []): readonly Spent[] {
  return spent.map(({ model, usage }) => ({ model: String(model), usage: soundUsage(usage) }))
}

function plain(state: unknown): unknown {
  return state === undefined ? undefined : JSON.parse(JSON.stringify(state))
}
