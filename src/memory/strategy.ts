import { MisuseError } from '../errors.ts'
import type { Spent } from '../machines/effects.ts'
import type { Message } from '../messages/types.ts'
import type { Compacted, CompactIO, Memory } from './memory.ts'
import { type MemoryFacts, memoryFacts } from './memoryFacts.ts'
import { ContextExhaustedError, trim } from './trim.ts'
import { View } from './view.ts'

/**
 * One way to show less, that can be composed with others. It narrows what those before it show; what is sent stays
 * sendable whatever it does, because `View` and `memoryOf` see to that.
 *
 * `narrow` and `wantsCompaction` are pure. `state` is what the strategy's own `compact` returned last.
 */
export interface Strategy {
  /** What is shown of what the strategies before it show. */
  narrow(view: View, state: unknown, facts: MemoryFacts): View
  /** Whether room has to be made. Default: never. */
  wantsCompaction?(view: View, state: unknown, facts: MemoryFacts): boolean
  /** Makes room. Called where `wantsCompaction` says so. */
  compact?(view: View, state: unknown, io: CompactIO): Promise<Compacted>
}

/** A memory that is made of strategies. */
export interface StrategyMemory extends Memory {
  readonly strategy: Strategy
  /** @param facts Default: those of a model about which nothing is known. */
  view(transcript: readonly Message[], state?: unknown, facts?: MemoryFacts): readonly Message[]
}

const NO_VIEW =
  'The narrow function of a strategy must return a View: the one that it is given, or view.from(…) and the like.'

/**
 * A memory of one strategy.
 *
 * @throws MisuseError `invalid_memory` for what has no `narrow`.
 */
export function memoryOf(strategy: Strategy): StrategyMemory {
  if (typeof strategy?.narrow !== 'function') {
    throw new MisuseError(
      'invalid_memory',
      'memoryOf needs a strategy: { narrow(view, state, facts) { … } }.',
    )
  }
  return {
    strategy,
    view(transcript, state, facts = memoryFacts(transcript)) {
      const view = strategy.narrow(View.of(transcript), state, facts)
      if (!(view instanceof View)) throw new MisuseError('invalid_memory', NO_VIEW)
      return trim(view, facts).toMessages()
    },
    // What is never wanted need not be asked for with every step.
    ...(strategy.wantsCompaction === undefined
      ? {}
      : {
          needsCompaction: (transcript, state, facts) =>
            wantsCompaction(strategy, View.of(transcript), state, facts),
        }),
    async compact(transcript, state, io) {
      const view = View.of(transcript)
      const wanted = wantsCompaction(strategy, view, state, io)
      // A provider that finds a conversation too long lowers the ceiling; that alone makes most strategies show less.
      if (!wanted || strategy.compact === undefined) return { state }
      return strategy.compact(view, state, io)
    },
  }
}

/** Where nothing can be made to fit, there is nothing to compact either: `view` says so. */
function wantsCompaction(strategy: Strategy, view: View, state: unknown, facts: MemoryFacts): boolean {
  try {
    return strategy.wantsCompaction?.(view, state, facts) ?? false
  } catch (thrown) {
    if (thrown instanceof ContextExhaustedError) return false
    throw thrown
  }
}

/**
 * Strategies one after the other: each sees what those before it show. Put what drops messages before what makes
 * something of the dropped ones: `compose(turns(6), facts())`.
 *
 * @throws MisuseError `invalid_memory` for a memory that is not made of strategies.
 */
export function compose(...memories: readonly StrategyMemory[]): StrategyMemory {
  const strategies = memories.map(strategyOf)
  const statesOf = (state: unknown): readonly unknown[] => (Array.isArray(state) ? state : [])

  const anyWants: NonNullable<Strategy['wantsCompaction']> = (view, state, facts) => {
    const states = statesOf(state)
    let shown = view
    return strategies.some((strategy, i) => {
      const before = shown
      shown = strategy.narrow(before, given(states[i]), facts)
      return strategy.wantsCompaction?.(before, given(states[i]), facts) ?? false
    })
  }

  return memoryOf({
    narrow(view, state, facts) {
      const states = statesOf(state)
      return strategies.reduce((shown, strategy, i) => strategy.narrow(shown, given(states[i]), facts), view)
    },
    ...(strategies.every((strategy) => strategy.wantsCompaction === undefined)
      ? {}
      : { wantsCompaction: anyWants }),
    async compact(view, state, io) {
      const states = strategies.map((_, i) => given(statesOf(state)[i]))
      const problems: string[] = []
      const spent: Spent[] = []
      let shown = view
      for (const [i, strategy] of strategies.entries()) {
        if (strategy.compact !== undefined && strategy.wantsCompaction?.(shown, states[i], io)) {
          const compacted = await strategy.compact(shown, states[i], io)
          states[i] = compacted.state
          spent.push(...(compacted.spent ?? []))
          if (compacted.problem !== undefined) problems.push(compacted.problem)
        }
        const narrowed = narrowedWhereItFits(strategy, shown, states[i], io)
        if (narrowed === undefined) break
        shown = narrowed
      }
      return {
        // JSON has no undefined in arrays.
        state: states.map((own) => own ?? null),
        spent,
        ...(problems.length === 0 ? {} : { problem: problems.join('; ') }),
      }
    },
  })
}

/** Where nothing can be made to fit, what was compacted so far is kept, and `view` says so. */
function narrowedWhereItFits(
  strategy: Strategy,
  view: View,
  state: unknown,
  facts: MemoryFacts,
): View | undefined {
  try {
    return strategy.narrow(view, state, facts)
  } catch (thrown) {
    if (thrown instanceof ContextExhaustedError) return undefined
    throw thrown
  }
}

/** JSON keeps the place of a strategy without a state as `null`. */
function given(state: unknown): unknown {
  return state ?? undefined
}

function strategyOf(memory: StrategyMemory): Strategy {
  if (typeof memory?.strategy?.narrow === 'function') return memory.strategy
  throw new MisuseError(
    'invalid_memory',
    'compose(…) takes memories that are made of strategies, such as turns(6), tokenBudget(8000) or memoryOf({ narrow }).',
  )
}
