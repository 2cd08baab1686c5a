import { describe, expect, it } from 'vitest'
import {
  type AgentEvent,
  compose,
  countTokens,
  createAgent,
  facts,
  findViolations,
  type Memory,
  type Message,
  ModelError,
  memoryJournal,
  type StrategyMemory,
  summary,
  tokenBudget,
  turns,
} from '../../src/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { characters, exchange, outline, says, user } from '../memory/support.ts'
import { journalOf } from '../support/journals.ts'
import { expectAborted, expectDone, expectSendable } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'

const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
const tooLong = new ModelError('context_too_long', 'maximum context length is 100 tokens', {
  retryable: false,
})

const long = (n: number): readonly Message[] =>
  Array.from({ length: n }, (_, i) => [
    user(`question ${i}`),
    ...exchange(`c${i}`, 'word '.repeat(100)),
    says(`answer ${i}`),
  ]).flat()

async function eventsOf(run: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of run) events.push(event)
  return events
}

const systems: readonly (readonly [string, Memory])[] = [
  ['turns', turns(1)],
  ['tokenBudget', tokenBudget(1500)],
  ['summary', summary({ at: 1500, keep: 500, model: scriptedModel(Array(9).fill('notes')) })],
  ['facts', compose(turns(1), facts({ model: scriptedModel(Array(9).fill('{"a":"b"}')) }))],
]

describe('the system message', () => {
  it.each(systems)('is the same bytes in every request, with %s', async (_name, memory) => {
    const model = scriptedModel([adding, adding, 'done'])
    const agent = createAgent({
      model,
      memory,
      instructions: 'Be brief. 简短。',
      tools: [countingAdd()],
      tokenCounter: characters,
    })
    expectDone(await agent.run([...long(8), user('now?')]))
    for (const { messages } of model.requests) {
      expect(messages[0]).toEqual({ role: 'system', content: 'Be brief. 简短。' })
      expect(findViolations(messages)).toEqual([])
      expect(messages).toContainEqual(user('now?'))
    }
  })
})

describe('compaction', () => {
  it('comes before the first call where a conversation is too long already', async () => {
    const order: string[] = []
    const summariser = scriptedModel([
      () => {
        order.push('summariser')
        return 'They talked.'
      },
    ])
    const model = scriptedModel([
      () => {
        order.push('model')
        return 'ok'
      },
    ])
    const memory = summary({ at: 1500, keep: 500, model: summariser })
    const agent = createAgent({ model, memory, tokenCounter: characters })
    const events = await eventsOf(agent.stream([...long(8), user('now?')]))
    expect(order).toEqual(['summariser', 'model'])
    expect(outline(model.requests[0]?.messages ?? [], 11)[0]).toBe('user: Background:')
    const finished = events.find(({ type }) => type === 'compaction.finished')
    expect(finished).toMatchObject({ place: 'compact.0' })
    const { tokensBefore, tokensAfter } = finished as { tokensBefore: number; tokensAfter: number }
    expect(tokensAfter).toBeLessThan(tokensBefore)
  })

  it('counts what it spent to the run', async () => {
    const usage = { inputTokens: 500, outputTokens: 40 }
    const memory = summary({ at: 1500, keep: 500, model: scriptedModel([{ text: 'notes', usage }]) })
    const agent = createAgent({ model: scriptedModel(['ok']), memory, tokenCounter: characters })
    const { usage: total } = expectDone(await agent.run([...long(8), user('now?')]))
    expect(total).toMatchObject({ inputTokens: 501, outputTokens: 41 })
  })

  it('is journaled: a resumed run has the summary and asks for none', async () => {
    const summariser = scriptedModel(['They talked.'])
    const memory = summary({ at: 1500, keep: 500, model: summariser })
    const journal = memoryJournal()
    const question = [...long(8), user('now?')]
    const crashing = createAgent({ model: scriptedModel([HANG]), memory, journal, tokenCounter: characters })
    const run = crashing.stream(question, { runId: 'r' })
    for await (const event of run) if (event.type === 'model.started') break
    await run.outcome
    // As a crash leaves it: without the cancellation.
    const cut = await journalOf(((await journal.load('r')) ?? []).slice(0, 3))
    const model = scriptedModel(['ok'])
    const resumed = createAgent({ model, memory, journal: cut, tokenCounter: characters })
    expectDone(await resumed.resume('r'))
    expect(summariser.requests).toHaveLength(1)
    expect(model.requests[0]?.messages[0]?.content).toContain('They talked.')
  })

  it('by a summariser that fails is got over, and told', async () => {
    const broken = scriptedModel([new Error('down'), new Error('down')])
    const memory = summary({ at: 1500, keep: 500, model: broken })
    const agent = createAgent({ model: scriptedModel(['ok']), memory, tokenCounter: characters })
    const events = await eventsOf(agent.stream([...long(8), user('now?')]))
    expect(events.find(({ type }) => type === 'compaction.finished')).toMatchObject({
      problem: expect.stringMatching(/left out without one: down/),
    })
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', outcome: { status: 'done' } })
  })

  it('by a summariser that hangs is given up after the time of a model call', async () => {
    const memory = summary({ at: 1500, keep: 500, model: scriptedModel([HANG, HANG]) })
    const agent = createAgent({
      model: scriptedModel(['ok']),
      memory,
      tokenCounter: characters,
      modelTimeoutMs: 20,
    })
    const events = await eventsOf(agent.stream([...long(8), user('now?')]))
    expect(events.find(({ type }) => type === 'compaction.finished')).toMatchObject({
      problem: expect.stringMatching(/left out without one: scripted did not answer within 20 ms/),
    })
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', outcome: { status: 'done' } })
  })

  it('is stopped with the run', async () => {
    const memory = summary({ at: 1500, keep: 500, model: scriptedModel([HANG]) })
    const agent = createAgent({ model: scriptedModel([]), memory, tokenCounter: characters })
    const run = agent.stream([...long(8), user('now?')])
    for await (const event of run) if (event.type === 'compaction.started') run.abort()
    const outcome = expectAborted(await run.outcome)
    expect(outcome.reason).toBe('cancelled')
    expectSendable(outcome)
  })

  it('of the user’s own that makes no room is dropped, and does not repeat without end', async () => {
    let compactions = 0
    const growing: Memory = {
      view: (transcript, state) => (state === undefined ? transcript : [user(String(state)), ...transcript]),
      needsCompaction: () => true,
      async compact() {
        compactions++
        return { state: 'a summary that is added and replaces nothing '.repeat(10) }
      },
    }
    const model = scriptedModel([adding, 'ok'])
    const agent = createAgent({ model, memory: growing, tools: [countingAdd()] })
    const run = agent.stream('go')
    const events = await eventsOf(run)
    expect(expectDone(await run.outcome).output).toBe('ok')
    expect(compactions).toBe(2)
    expect(model.requests[1]?.messages).toHaveLength(3)
    expect(events.find(({ type }) => type === 'compaction.finished')).toMatchObject({
      problem: expect.stringMatching(/made no room/),
    })
  })
})

describe('a conversation that the provider finds too long', () => {
  const question = [...long(8), user('now?')]

  it.each<readonly [string, StrategyMemory | undefined]>([
    ['the default memory', undefined],
    ['a budget', tokenBudget(1_000_000)],
    ['a summary', summary({ at: 1_000_000, keep: 1000, model: scriptedModel(['notes']) })],
  ])('is shown in half with %s, once, and the run goes on', async (_name, memory) => {
    const model = scriptedModel([tooLong, adding, 'ok'])
    const agent = createAgent({ model, ...(memory === undefined ? {} : { memory }), tools: [countingAdd()] })
    const outcome = expectDone(await agent.run(question))
    expect(outcome.output).toBe('ok')
    const sizes = model.requests.map(({ messages }) => JSON.stringify(messages).length)
    expect(sizes[1]).toBeLessThan((sizes[0] as number) * 0.7)
    expect(sizes[2]).toBeLessThan((sizes[0] as number) * 0.7)
    expect(outcome.memory.ceiling).toBeGreaterThan(0)
    expect(outcome.transcript.length).toBeGreaterThan(question.length)
  })

  it('gives up half of the conversation, not of what is sent beside it', async () => {
    const model = scriptedModel([tooLong, 'ok', 'ok again'])
    const agent = createAgent({
      model,
      instructions: 'Mind the rules. '.repeat(400),
      tokenCounter: characters,
    })
    const session = agent.session('s')
    expect(expectDone(await session.run(question)).output).toBe('ok')
    expect(expectDone(await session.run('more?')).output).toBe('ok again')
  })

  it('keeps to the ceiling in tokens as they are counted, whatever is reported later', async () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 1 }
    const model = scriptedModel([tooLong, { ...(adding as object), usage }, { text: 'ok', usage }])
    const agent = createAgent({ model, tools: [countingAdd()], memory: tokenBudget(10_000_000) })
    expect(expectDone(await agent.run(question)).output).toBe('ok')
    const sizes = model.requests.map(({ messages }) => JSON.stringify(messages).length)
    expect(sizes[2]).toBeGreaterThan((sizes[0] as number) * 0.3)
  })

  it('in the closing call is shown in half, too', async () => {
    const model = scriptedModel([adding, tooLong, 'closing'])
    const agent = createAgent({ model, tools: [countingAdd()], limits: { steps: 1 } })
    const run = agent.stream(question)
    const events = await eventsOf(run)
    expect(expectDone(await run.outcome)).toMatchObject({ output: 'closing', stoppedBy: { limit: 'steps' } })
    const places = events.flatMap((event) => (event.type === 'model.started' ? event.place : []))
    expect(places).toEqual(['model.1.1', 'closing.1', 'closing.again.1'])
  })

  it('ends the run where less cannot be shown, and says what was tried', async () => {
    const outcome = expectAborted(await createAgent({ model: scriptedModel([tooLong]) }).run('go'))
    expect(outcome.reason).toBe('context_exhausted')
    expect(outcome.message).toMatch(/too long/)
    const again = createAgent({ model: scriptedModel([tooLong, tooLong]) })
    expect(expectAborted(await again.run(question))).toMatchObject({
      reason: 'context_exhausted',
      error: { code: 'context_too_long' },
    })
  })

  it('never reaches the provider where the budget is known to be too small', async () => {
    const model = scriptedModel([])
    const agent = createAgent({
      model,
      memory: tokenBudget(20),
      instructions: 'A long instruction. '.repeat(20),
    })
    const outcome = expectAborted(await agent.run('hello'))
    expect(outcome.reason).toBe('context_exhausted')
    expect(outcome.message).toMatch(/limit of 20 leaves beside the system message/)
    expect(model.requests).toHaveLength(0)
    expectSendable(outcome)
  })
})

describe('the default memory', () => {
  it('keeps requests within three quarters of the model’s context window', async () => {
    const model = { ...scriptedModel(['ok']), contextWindow: 1000 }
    const agent = createAgent({ model })
    expectDone(await agent.run([...long(20), user('now?')]))
    const { requests } = model as unknown as ReturnType<typeof scriptedModel>
    const tokens = requests[0]?.messages.reduce((sum, { content }) => sum + countTokens(String(content)), 0)
    expect(tokens).toBeLessThanOrEqual(750)
    expect(tokens).toBeGreaterThan(400)
  })

  it('shows everything where the window is unknown', async () => {
    const model = scriptedModel(['ok'])
    await createAgent({ model }).run([...long(50), user('now?')])
    expect(model.requests[0]?.messages).toHaveLength(201)
  })
})

describe('calibration', () => {
  const question = [...long(8), user('now?')]
  const reporting = (inputTokens: number): ScriptedStep => ({
    ...(adding as object),
    usage: { inputTokens, outputTokens: 1 },
  })

  it('corrects the count by what the provider reports', async () => {
    const model = scriptedModel([
      reporting(3000),
      { text: 'ok', usage: { inputTokens: 2000, outputTokens: 1 } },
    ])
    const memory = tokenBudget(1500)
    const agent = createAgent({ model, memory, tools: [countingAdd()], tokenCounter: characters })
    const outcome = expectDone(await agent.run(question))
    expect(outcome.memory.calibration).toBeGreaterThan(1.5)
    const sizes = model.requests.map(({ messages }) => JSON.stringify(messages).length)
    expect(sizes[1]).toBeLessThan((sizes[0] as number) * 0.85)
  })

  it('is bounded, whatever a provider reports', async () => {
    for (const [reported, believed] of [
      [10_000_000, 3],
      [1, 1],
    ] as const) {
      const model = scriptedModel([{ text: 'ok', usage: { inputTokens: reported, outputTokens: 1 } }])
      const agent = createAgent({ model, memory: tokenBudget(1500), tokenCounter: characters })
      expect((await agent.run(question)).memory.calibration).toBe(believed)
    }
  })

  it('is left as it is where the provider reports nothing', async () => {
    const model = scriptedModel([{ text: 'ok', usage: { inputTokens: 0, outputTokens: 0 } }])
    const agent = createAgent({ model, memory: tokenBudget(1500), tokenCounter: characters })
    expect((await agent.run(question)).memory.calibration).toBe(1)
  })

  it('comes to the same on replay', async () => {
    const journal = memoryJournal()
    const memory = tokenBudget(1500)
    const parts = { memory, journal, tools: [countingAdd()], tokenCounter: characters }
    const first = await createAgent({ model: scriptedModel([reporting(3000), 'ok']), ...parts }).run(
      question,
      {
        runId: 'r',
      },
    )
    const again = await createAgent({ model: scriptedModel([]), ...parts }).resume('r')
    expect(again.memory).toEqual(first.memory)
  })
})

it('goes on in another run with outcome.memory, and refuses what is none', async () => {
  const summariser = scriptedModel(['They talked.'])
  const memory = summary({ at: 1500, keep: 500, model: summariser })
  const model = scriptedModel(['one', 'two'])
  const agent = createAgent({ model, memory, tokenCounter: characters })
  const first = await agent.run([...long(8), user('now?')])
  await agent.run({ messages: [...first.transcript, user('and now?')], memory: first.memory })
  expect(summariser.requests).toHaveLength(1)
  expect(model.requests[1]?.messages[0]?.content).toContain('They talked.')
  await expect(agent.run({ messages: 'hi', memory: { calibration: 0 } })).rejects.toMatchObject({
    code: 'invalid_input',
  })
})

it('a memory that throws is named as what failed', async () => {
  const broken: Memory = {
    view: () => {
      throw new Error('boom')
    },
  }
  const outcome = expectAborted(await createAgent({ model: scriptedModel([]), memory: broken }).run('go'))
  expect(outcome).toMatchObject({
    error: { code: 'memory_failed' },
    message: expect.stringMatching(/memory threw: boom/),
  })
})

describe('a budget of tokens', () => {
  const costly = (inputTokens: number) =>
    summary({
      at: 1500,
      keep: 500,
      model: scriptedModel(Array(9).fill({ text: 'notes', usage: { inputTokens, outputTokens: 1 } })),
    })

  it('is judged again after a compaction has spent of it', async () => {
    const model = scriptedModel([])
    const agent = createAgent({
      model,
      memory: costly(50_000),
      tokenCounter: characters,
      limits: { tokens: 10_000 },
    })
    const outcome = expectAborted(await agent.run([...long(8), user('now?')]))
    expect(outcome).toMatchObject({ reason: 'limit', stoppedBy: { limit: 'tokens' } })
    expect(outcome.usage.inputTokens).toBe(50_000)
    expect(model.requests).toHaveLength(0)
  })

  it('is judged before the first call', async () => {
    const model = scriptedModel([])
    const agent = createAgent({ model, limits: { tokens: 100 } })
    const run = agent.stream('a long question '.repeat(500))
    const events = await eventsOf(run)
    expect(events.map(({ type }) => type)).toEqual([
      'run.started',
      'messages.appended',
      'limits.updated',
      'limit.reached',
      'run.finished',
    ])
    const outcome = expectAborted(await run.outcome)
    expect(outcome).toMatchObject({ reason: 'limit', stoppedBy: { limit: 'tokens' } })
    expect(model.requests).toHaveLength(0)
  })

  it('that is used up makes no room any more', async () => {
    const summariser = scriptedModel(['notes'])
    const memory = summary({ at: 1500, keep: 500, model: summariser })
    const grown = 'word '.repeat(400)
    const tool = { ...countingAdd(), run: () => grown }
    const agent = createAgent({
      model: scriptedModel([adding]),
      memory,
      tools: [tool],
      tokenCounter: characters,
      limits: { steps: { abort: 1 } },
    })
    expect(expectAborted(await agent.run('go')).stoppedBy?.limit).toBe('steps')
    expect(summariser.requests).toHaveLength(0)
  })
})
