import { isDeepStrictEqual } from 'node:util'
import { LoopchartError, MisuseError, messageOf } from '../errors.ts'
import type { CompactIO, Memory } from '../memory/memory.ts'
import { memoryFacts, messageCounterOf } from '../memory/memoryFacts.ts'
import { REQUEST_OVERHEAD } from '../memory/tokens/messageCounter.ts'
import type { TokenCounter } from '../memory/tokens/tokenCounter.ts'
import { findViolations, isSystem } from '../messages/invariants.ts'
import type { Message, SystemMessage } from '../messages/types.ts'
import type { Model } from '../models/model.ts'
import { below, seededRandom } from './random.ts'
import { randomTranscript } from './randomTranscript.ts'
import { scribe } from './scribe.ts'

export interface CheckMemoryOptions {
  /** How many conversations are made up. Default: 50. */
  readonly conversations?: number
  /** The most turns of a conversation. Default: 12. */
  readonly turns?: number
  /** Which conversations are made up. Default: 1. */
  readonly seed?: number
  /** Counts tokens. Default: four bytes to a token, which needs no loading. */
  readonly tokenCounter?: TokenCounter
  /** Answers what the memory asks a model when it compacts. Default: a short text that is also a JSON object. */
  readonly agentModel?: Model
}

/** What `checkMemory` looked at. */
export interface MemoryReport {
  readonly conversations: number
  /** Requests whose messages were checked. */
  readonly requests: number
  /** Requests for which the memory said that nothing fits. */
  readonly exhausted: number
  readonly compactions: number
}

const SYSTEM: SystemMessage = { role: 'system', content: 'You are a helpful assistant.' }

/** Budgets that are tried, in tokens: one that nothing fits into, some that little fits into, one that all fits into. */
const BUDGETS = [60, 200, 500, 2000, 1_000_000]

const byBytes: TokenCounter = { count: (text) => Math.ceil(Buffer.byteLength(text) / 4) }

/**
 * Checks that a memory keeps what every memory promises, over made-up conversations that grow as those of a run do:
 *
 * - what it shows can be sent: calls and results paired, nothing empty, nothing ill-formed;
 * - it adds no system message, so that the agent's own is the same in every request;
 * - the last user message is shown as it is;
 * - the same conversation gives the same messages, and is not changed by looking at it;
 * - where it is made for a budget: no request exceeds it, and what is within it comes back as the very same array. It may
 *   give up only with a `ContextExhaustedError`.
 *
 * @param subject A memory, or a function that makes one for a budget in tokens.
 * @throws LoopchartError `memory_check_failed`, which names the broken promise and shows the conversation.
 */
export async function checkMemory(
  subject: Memory | ((tokens: number) => Memory),
  options: CheckMemoryOptions = {},
): Promise<MemoryReport> {
  const { conversations = 50, turns = 12, seed = 1 } = options
  const cases: readonly Case[] =
    typeof subject === 'function'
      ? BUDGETS.map((budget) => ({ memory: checkedMemory(subject(budget)), budget }))
      : [{ memory: checkedMemory(subject), budget: undefined }]
  const report = { conversations, requests: 0, exhausted: 0, compactions: 0 }
  for (let i = 0; i < conversations; i++) {
    const random = seededRandom(seed + i)
    const transcript = frozen(randomTranscript(random, 1 + below(random, turns)))
    for (const { memory, budget } of cases) {
      const check = new Conversation(memory, budget, options)
      try {
        await check.follow(transcript)
      } catch (thrown) {
        throw failure(thrown, { seed: seed + i, budget, seen: check.seen })
      }
      report.requests += check.requests
      report.exhausted += check.exhausted
      report.compactions += check.compactions
    }
  }
  return report
}

interface Case {
  readonly memory: Memory
  readonly budget: number | undefined
}

/** A conversation that grows, message by message, as a run would show it to the memory. */
class Conversation {
  readonly #memory: Memory
  readonly #budget: number | undefined
  readonly #counter: TokenCounter
  readonly #agentModel: Model
  #state: unknown
  requests = 0
  exhausted = 0
  compactions = 0
  seen: readonly Message[] = []

  constructor(
    memory: Memory,
    budget: number | undefined,
    { tokenCounter = byBytes, agentModel = scribe }: CheckMemoryOptions,
  ) {
    this.#memory = memory
    this.#budget = budget
    this.#counter = tokenCounter
    this.#agentModel = agentModel
  }

  async follow(transcript: readonly Message[]): Promise<void> {
    for (const length of requestsIn(transcript)) {
      this.seen = Object.freeze(transcript.slice(0, length))
      await this.#request(this.seen)
    }
  }

  async #request(transcript: readonly Message[]): Promise<void> {
    const facts = this.#facts(transcript)
    if (this.#memory.needsCompaction?.(transcript, this.#state, facts) === true) {
      this.compactions++
      const io: CompactIO = {
        ...facts,
        signal: new AbortController().signal,
        agentModel: this.#agentModel,
        timeoutMs: 60_000,
      }
      const compacted = await this.#memory.compact?.(transcript, this.#state, io)
      const state = compacted?.state
      const kept: unknown = state === undefined ? undefined : JSON.parse(JSON.stringify(state))
      demand(isDeepStrictEqual(kept, state), 'its state is plain JSON', state)
      this.#state = kept
    }
    this.requests++
    const shown = this.#shown(transcript)
    if (shown === undefined) return
    demand(!shown.some(isSystem), 'it adds no system message', shown)
    const [violation] = findViolations([SYSTEM, ...shown])
    demand(
      violation === undefined,
      `what it shows can be sent (${violation?.rule}: ${violation?.message})`,
      shown,
    )
    const asked = transcript.findLast(({ role }) => role === 'user')
    demand(
      shown.some((message) => isDeepStrictEqual(message, asked)),
      'the last user message is shown as it is',
      shown,
    )
    const copy = structuredClone(transcript)
    demand(
      isDeepStrictEqual(this.#shown(copy), shown),
      'the same conversation gives the same messages',
      shown,
    )
    this.#demandBudget(transcript, shown)
  }

  /** What is shown, `undefined` where nothing fits. */
  #shown(transcript: readonly Message[]): readonly Message[] | undefined {
    try {
      return this.#memory.view(transcript, this.#state, this.#facts(transcript))
    } catch (thrown) {
      const isExhausted = thrown instanceof LoopchartError && thrown.code === 'context_exhausted'
      if (!isExhausted) throw thrown
      demand(this.#budget !== undefined, 'a memory without a budget shows something', [])
      this.exhausted++
      return undefined
    }
  }

  #demandBudget(transcript: readonly Message[], shown: readonly Message[]): void {
    if (this.#budget === undefined) return
    const size = this.#sizeOf(shown)
    demand(size <= this.#budget, `no request exceeds the budget (${size} tokens of ${this.#budget})`, shown)
    if (this.#state === undefined && this.#sizeOf(transcript) <= this.#budget) {
      demand(shown === transcript, 'what is within the budget comes back as the same array', shown)
    }
  }

  #facts(transcript: readonly Message[]) {
    const beside = this.#besideTokens()
    return memoryFacts(transcript, {
      tokenCounter: this.#counter,
      beside: { count: () => beside, atMost: () => beside },
    })
  }

  #sizeOf(messages: readonly Message[]): number {
    const counter = messageCounterOf(this.#counter)
    return this.#besideTokens() + counter.countAll(messages)
  }

  #besideTokens(): number {
    return REQUEST_OVERHEAD + messageCounterOf(this.#counter).count(SYSTEM)
  }
}

/** The lengths at which a run would make a request: after a user message, and after the last result of an exchange. */
function* requestsIn(transcript: readonly Message[]): Generator<number> {
  for (const [i, { role }] of transcript.entries()) {
    if (role === 'user' || (role === 'tool' && transcript[i + 1]?.role !== 'tool')) yield i + 1
  }
}

class BrokenPromise extends Error {
  readonly shown: unknown

  constructor(promise: string, shown: unknown) {
    super(promise)
    this.shown = shown
  }
}

function demand(holds: boolean, promise: string, shown: unknown): void {
  if (!holds) throw new BrokenPromise(promise, shown)
}

function failure(
  thrown: unknown,
  {
    seed,
    budget,
    seen,
  }: { readonly seed: number; readonly budget: number | undefined; readonly seen: readonly Message[] },
): LoopchartError {
  const where = `conversation of seed ${seed}${budget === undefined ? '' : `, budget ${budget}`}`
  const what =
    thrown instanceof BrokenPromise
      ? `The memory breaks the promise that ${thrown.message}`
      : `The memory threw: ${messageOf(thrown)}`
  const shown = thrown instanceof BrokenPromise ? `\nWhat it shows:\n${lines(thrown.shown)}` : ''
  return new LoopchartError(
    'memory_check_failed',
    `${what} (${where}).${shown}\nThe conversation:\n${lines(seen)}`,
    { cause: thrown },
  )
}

const LINE_LENGTH = 160

function lines(shown: unknown): string {
  const items = Array.isArray(shown) ? shown : [shown]
  return items.map((item) => `  ${(JSON.stringify(item) ?? 'undefined').slice(0, LINE_LENGTH)}`).join('\n')
}

function checkedMemory(memory: Memory): Memory {
  if (typeof memory?.view === 'function') return memory
  throw new MisuseError(
    'invalid_memory',
    'checkMemory needs a memory, or a function that makes one for a budget.',
  )
}

/** A memory that changes what it looks at is caught in the act. */
function frozen(messages: readonly Message[]): readonly Message[] {
  const freeze = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const part of Object.values(value)) freeze(part)
    Object.freeze(value)
  }
  freeze(messages)
  return messages
}
