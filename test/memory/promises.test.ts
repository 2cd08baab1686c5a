import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  clearOldToolResults,
  compose,
  defaultMemory,
  facts,
  findViolations,
  type Memory,
  type Message,
  memoryFacts,
  outline,
  type StrategyMemory,
  summary,
  tokenBudget,
  turns,
  wholeTranscript,
} from '../../src/index.ts'
import { messageCounterOf } from '../../src/memory/memoryFacts.ts'
import { checkMemory, scriptedModel } from '../../src/testing/index.ts'
import { exchange, ioFor, roomMade, says, spyingCounter, user } from './support.ts'

const byMessages = summary({ at: { messages: 8 }, keep: { messages: 4 } })

/** Every strategy, and compositions of them, as a function of the budget. */
const budgeted: readonly (readonly [string, (tokens: number) => StrategyMemory])[] = [
  ['tokenBudget', (n) => tokenBudget(n)],
  ['summary', (n) => summary({ at: n, keep: Math.ceil(n / 2) })],
  ['defaultMemory', (n) => defaultMemory({ contextWindow: Math.ceil((n * 4) / 3) })],
  [
    'defaultMemory with a summariser',
    (n) => defaultMemory({ contextWindow: Math.ceil((n * 4) / 3), summarizer: answersAll }),
  ],
  ['tokenBudget and facts', (n) => compose(tokenBudget(n), facts())],
  ['summary and facts', (n) => compose(summary({ at: n, keep: Math.ceil(n / 3) }), facts())],
  ['cleared results and a budget', (n) => compose(clearOldToolResults({ keep: 2, at: n }), tokenBudget(n))],
  ['tokenBudget and an outline', (n) => compose(tokenBudget(n), outline())],
  ['a summary by messages and a budget', (n) => compose(byMessages, tokenBudget(n))],
  ['turns and a budget', (n) => compose(turns(50), tokenBudget(n))],
]

const unbudgeted: readonly (readonly [string, Memory])[] = [
  ['wholeTranscript', wholeTranscript],
  ['turns', turns(2)],
  ['turns and an outline', compose(turns(2), outline())],
  ['a summary by messages', byMessages],
  ['clearOldToolResults', clearOldToolResults({ keep: 1 })],
  ['turns and facts', compose(turns(1), facts())],
  ['turns and cleared results', compose(turns(3), clearOldToolResults({ keep: 1 }))],
]

const answersAll = {
  id: 'brief',
  generate: (request: Parameters<ReturnType<typeof scriptedModel>['generate']>[0]) =>
    scriptedModel(['{"topic":"weather"}']).generate(request, { signal: new AbortController().signal }),
}

describe('every memory keeps its promises over conversations that grow', () => {
  it.each(budgeted)('%s', async (_name, make) => {
    const report = await checkMemory(make, { conversations: 15 })
    expect(report.requests).toBeGreaterThan(400)
  })

  it.each(unbudgeted)('%s', async (_name, memory) => {
    expect((await checkMemory(memory, { conversations: 15 })).exhausted).toBe(0)
  })
})

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.toWellFormed()),
  fc.integer({ min: 1, max: 4000 }).map((length) => '数'.repeat(length)),
  fc.constantFrom('👩‍👩‍👧‍👦'.repeat(50), ' '.repeat(500), '{"a":1}'),
)

const anyTurn = fc
  .tuple(
    anyText.filter((text) => text !== ''),
    fc.array(fc.array(anyText, { minLength: 1, maxLength: 3 }), { maxLength: 4 }),
    fc.boolean(),
  )
  .map(([question, exchanges, isAnswered]) => ({ question, exchanges, isAnswered }))

/** Conversations up to the moment before a model call. */
const anyConversation = fc.array(anyTurn, { minLength: 1, maxLength: 8 }).map((given) => {
  const messages: Message[] = []
  for (const [i, { question, exchanges, isAnswered }] of given.entries()) {
    messages.push(user(question))
    for (const [j, results] of exchanges.entries()) messages.push(...exchange(`c${i}_${j}`, ...results))
    if (isAnswered && i < given.length - 1) messages.push(says('answer'))
  }
  return messages
})

describe('any conversation', () => {
  it.each(budgeted)('is shown sendable and within any budget by %s', async (_name, make) => {
    await fc.assert(
      fc.asyncProperty(anyConversation, fc.integer({ min: 10, max: 3000 }), async (transcript, budget) => {
        const counter = spyingCounter()
        const known = memoryFacts(transcript, { tokenCounter: counter })
        const memory = make(budget)
        const state = await roomMade(memory, transcript, undefined, ioFor(known, answersAll))
        let view: readonly Message[]
        try {
          view = memory.view(transcript, state, known)
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: 'context_exhausted' })
          return
        }
        const size = view.reduce((sum, message) => sum + known.counter.count(message), 0)
        expect(size).toBeLessThanOrEqual(budget)
        expect(findViolations([{ role: 'system', content: 's' }, ...view])).toEqual([])
        expect(view).toContain(transcript.findLast(({ role }) => role === 'user'))
      }),
      { numRuns: 60 },
    )
  })
})

describe('counting is linear', () => {
  it.each([
    ['tokenBudget', tokenBudget(2000)],
    ['summary', summary({ at: 2000, keep: 800, model: answersAll })],
  ])('%s counts each message at most once over a conversation of thousands', async (_name, memory) => {
    const counter = spyingCounter()
    const messageCounter = messageCounterOf(counter)
    const transcript: Message[] = [user('question')]
    let state: unknown
    let shownMessages = 0
    for (let step = 0; step < 1000; step++) {
      transcript.push(...exchange(`s${step}`, `result ${step} ${'x'.repeat(step % 50)}`))
      const known = memoryFacts(transcript, { tokenCounter: counter })
      state = await roomMade(memory, transcript, state, ioFor(known, answersAll))
      shownMessages += memory.view(transcript, state, known).length
    }
    const contents = transcript.map(({ content }) => content).filter((content) => typeof content === 'string')
    const counts = new Map<string, number>()
    for (const text of counter.counted) counts.set(text, (counts.get(text) ?? 0) + 1)
    for (const content of contents) expect(counts.get(content) ?? 0).toBeLessThanOrEqual(1)
    expect(shownMessages).toBeGreaterThan(10_000)
    expect(messageCounter.count(transcript[0] as Message)).toBeGreaterThan(0)
  })
})
