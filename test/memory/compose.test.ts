import { describe, expect, it } from 'vitest'
import {
  CLEARED_RESULT,
  type CompactIO,
  clearOldToolResults,
  compose,
  facts,
  findViolations,
  type Memory,
  MisuseError,
  memoryFacts,
  memoryOf,
  type StrategyMemory,
  summary,
  tokenBudget,
  turns,
} from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { characters, exchange, outline, says, user } from './support.ts'

const long = 'long '.repeat(40)
const transcript = [
  user('one'),
  ...exchange('a', long),
  says('answer one'),
  user('two'),
  ...exchange('b', long),
  ...exchange('c', long),
]

describe('composed strategies', () => {
  it('each see what those before them show', () => {
    const memory = compose(turns(1), clearOldToolResults({ keep: 1 }))
    expect(memory.view(transcript)).toEqual([
      user('two'),
      ...exchange('b', CLEARED_RESULT),
      ...exchange('c', long),
    ])
  })

  it('show the same array where none of them changes anything', () => {
    expect(compose(turns(9), clearOldToolResults({ keep: 9 })).view(transcript)).toBe(transcript)
    expect(compose().view(transcript)).toBe(transcript)
  })

  it('compact together: each has a state of its own, usage adds up, and problems are all told', async () => {
    const usage = { inputTokens: 10, outputTokens: 1 }
    const summariser = scriptedModel([
      { text: '', usage },
      { text: '', usage },
    ])
    const finder = scriptedModel([{ text: '{"topic":"numbers"}', usage }])
    const memory = compose(summary({ at: 600, keep: 250, model: summariser }), facts({ model: finder }))
    const known = memoryFacts(transcript, { tokenCounter: characters })
    const io: CompactIO = {
      ...known,
      signal: new AbortController().signal,
      timeoutMs: 60_000,
      agentModel: scriptedModel([]),
    }
    expect(memory.needsCompaction?.(transcript, undefined, known)).toBe(true)
    const compacted = await memory.compact?.(transcript, undefined, io)
    expect(compacted?.problem).toMatch(/^The summary failed/)
    expect(compacted?.spent?.map(({ usage: { inputTokens } }) => inputTokens)).toEqual([10, 10, 10])
    expect(JSON.parse(JSON.stringify(compacted?.state))).toEqual(compacted?.state)
    expect(outline(memory.view(transcript, compacted?.state, known), 21)[0]).toBe(
      'user: Background: known fac',
    )
    expect(memory.needsCompaction?.(transcript, compacted?.state, known)).toBe(false)
  })

  it('can be composed again', () => {
    const inner = compose(turns(1), clearOldToolResults({ keep: 1 }))
    expect(compose(inner, turns(1)).view(transcript)).toEqual(inner.view(transcript))
  })

  it('can be the user’s own', () => {
    const withoutGreeting = memoryOf({ narrow: (view) => view.from(view.exchangeAt(1)) })
    const view = compose(withoutGreeting, turns(3)).view([says('Hello!'), user('hi')])
    expect(view).toEqual([user('hi')])
  })

  it('stay sendable whatever a strategy of the user’s asks for', () => {
    for (let position = -3; position < transcript.length + 3; position++) {
      const view = memoryOf({ narrow: (shown) => shown.from(position) }).view(transcript)
      expect(view.filter(({ role }) => role === 'user').at(-1)).toEqual(user('two'))
      expect(view[0]?.role).toBe('user')
      expect(findViolations(view)).toEqual([])
    }
    for (const odd of [Number.NaN, 2.5, Number.POSITIVE_INFINITY, -0.1]) {
      const view = memoryOf({ narrow: (shown) => shown.from(odd) }).view(transcript)
      expect(findViolations(view)).toEqual([])
    }
    const forged = new Map([
      [0, user('')],
      [1, { role: 'tool', tool_call_id: 'x', content: '' } as const],
    ])
    expect(memoryOf({ narrow: (shown) => shown.withShortened(forged) }).view(transcript)).toBe(transcript)
  })

  it('hold to the smallest of their budgets', () => {
    const known = memoryFacts(transcript, { tokenCounter: characters })
    const memory = compose(tokenBudget(300), tokenBudget(9000), facts())
    const state = [null, null, { facts: [['topic', 'numbers '.repeat(9)]], upTo: 0 }]
    const size = memory
      .view(transcript, state, known)
      .reduce((sum, message) => sum + known.counter.count(message), 0)
    expect(size).toBeLessThanOrEqual(300)
  })

  it('must be strategies', () => {
    expect(() => memoryOf({} as never)).toThrow(MisuseError)
    expect(() => memoryOf({ narrow: () => undefined as never }).view(transcript)).toThrow(
      /must return a View/,
    )
    const bare: Memory = { view: (messages) => messages }
    expect(() => compose(bare as StrategyMemory)).toThrow(MisuseError)
  })
})
