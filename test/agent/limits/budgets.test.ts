import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  agentAsTool,
  createAgent,
  defineTool,
  fallback,
  type Limits,
  type Model,
  type Prices,
  type Usage,
} from '../../../src/index.ts'
import { type ScriptedReply, type ScriptedStep, scriptedModel } from '../../../src/testing/index.ts'
import { expectAborted, expectDone, expectSendable, rejectionOf } from '../../support/outcome.ts'
import { countingAdd } from '../../support/tools.ts'

const prices: Prices = { scripted: { input: 2, cachedInput: 0.5, output: 8 } }

const adding = (a: number, usage?: Partial<Usage>): ScriptedReply => ({
  calls: [{ name: 'add', arguments: { a, b: 2 } }],
  ...(usage === undefined ? {} : { usage }),
})
const steps = (count: number, usage: Partial<Usage>): ScriptedReply[] =>
  Array.from({ length: count }, (_, a) => adding(a, usage))
const total = ({ inputTokens, outputTokens }: Usage): number => inputTokens + outputTokens

const agentWith = (script: readonly ScriptedStep[], limits: Partial<Limits>) =>
  createAgent({ model: scriptedModel(script), tools: [countingAdd()], limits, prices })

describe('the limit of tokens', () => {
  it('concludes while the closing answer still fits', async () => {
    const usage = { inputTokens: 1000, outputTokens: 100 }
    const script = [...steps(4, usage), { text: 'closing', usage }]
    const outcome = expectDone(await agentWith(script, { tokens: 8000 }).run('go'))
    expect(outcome.stoppedBy).toMatchObject({ limit: 'tokens', max: 8000, reaction: 'conclude' })
    expect(outcome.steps).toBe(4)
    expect(total(outcome.usage)).toBeLessThanOrEqual(8000)
  })

  it('leaves a run alone that stays within it', async () => {
    const usage = { inputTokens: 1000, outputTokens: 100 }
    const script = [...steps(3, usage), { text: 'answer', usage }]
    expect(expectDone(await agentWith(script, { tokens: 20_000 }).run('go')).stoppedBy).toBeUndefined()
  })

  it('aborts without another call where not even a closing question fits', async () => {
    const model = scriptedModel([adding(1, { inputTokens: 6000, outputTokens: 100 })])
    const agent = createAgent({ model, tools: [countingAdd()], limits: { tokens: 10_000 } })
    const outcome = expectAborted(await agent.run('go'))
    expect(outcome).toMatchObject({ reason: 'limit', stoppedBy: { limit: 'tokens', reaction: 'abort' } })
    expect(outcome.partial).toContain('- add: 3')
    expect(model.requests).toHaveLength(1)
    expectSendable(outcome)
  })

  it.each([
    ['missing', {}],
    ['zero', { inputTokens: 0, outputTokens: 0 }],
    ['no number', { inputTokens: Number.NaN, outputTokens: Number.NaN }],
  ])('fires for a provider whose usage is %s, by an estimate', async (_what, usage) => {
    const text = 'x'.repeat(4000)
    const answer = {
      text: '',
      toolCalls: [],
      finish: 'stop',
      usage,
      message: { role: 'assistant', content: null },
    }
    let calls = 0
    const model = {
      id: 'silent',
      generate: async () => ({
        ...answer,
        toolCalls: [
          {
            id: `c${calls}`,
            type: 'function',
            function: { name: 'add', arguments: `{"a":${calls++},"b":1}` },
          },
        ],
      }),
    } as unknown as Model
    const agent = createAgent({ model, tools: [countingAdd()], limits: { tokens: 20_000, steps: 100 } })
    const outcome = await agent.run(text)
    expect(outcome).toMatchObject({ stoppedBy: { limit: 'tokens' }, usage: { estimated: true } })
    expect(outcome.steps).toBeLessThan(20)
  })

  it('counts the results that the next request will carry', async () => {
    const long = defineTool({
      name: 'add',
      description: 'Answers at length.',
      input: z.looseObject({}),
      run: () => 'word '.repeat(2000),
    })
    const usage = { inputTokens: 100, outputTokens: 10 }
    const model = scriptedModel([adding(1, usage), { text: 'closing', usage }])
    const outcome = await createAgent({ model, tools: [long], limits: { tokens: 6000 } }).run('go')
    expect(expectDone(outcome)).toMatchObject({ steps: 1, stoppedBy: { limit: 'tokens' } })
  })

  it('counts the conversation once after a reply that could not be used', async () => {
    const script: ScriptedStep[] = [
      { text: '', usage: { inputTokens: 4000, outputTokens: 1 } },
      { text: 'answer', usage: { inputTokens: 4050, outputTokens: 10 } },
    ]
    const outcome = await agentWith(script, { tokens: 14_000 }).run('word '.repeat(3200))
    expect(expectDone(outcome).stoppedBy).toBeUndefined()
  })

  it('takes a reply that could not be used for no part of the next request', async () => {
    const script: ScriptedStep[] = [
      { text: 'cut', finish: 'length', usage: { inputTokens: 100, outputTokens: 2000 } },
      { text: 'answer', usage: { inputTokens: 150, outputTokens: 10 } },
    ]
    // 2100 were spent; two requests of 200 and three replies of 2000 are 6400 more.
    const outcome = await agentWith(script, { tokens: 8600 }).run('go')
    expect(expectDone(outcome).stoppedBy).toBeUndefined()
  })

  it('counts what sub-agents spend', async () => {
    const helper = agentAsTool(
      createAgent({
        model: scriptedModel([{ text: 'found', usage: { inputTokens: 9000, outputTokens: 500 } }]),
      }),
      { name: 'help', description: 'Helps.' },
    )
    const model = scriptedModel([{ calls: [{ name: 'help', arguments: { task: 'look' } }] }, 'closing'])
    const outcome = await createAgent({ model, tools: [helper], limits: { tokens: 10_000 } }).run('go')
    expect(expectDone(outcome).stoppedBy?.limit).toBe('tokens')
  })

  it('can warn only', async () => {
    const model = scriptedModel([...steps(3, { inputTokens: 1000, outputTokens: 100 }), 'answer'])
    const agent = createAgent({ model, tools: [countingAdd()], limits: { tokens: { warn: 2000 } } })
    expect(expectDone(await agent.run('go')).stoppedBy).toBeUndefined()
    const notes = model.requests.map(({ messages }) =>
      String(messages.at(-1)?.content).includes('token budget'),
    )
    expect(notes).toEqual([false, false, true, true])
  })

  it('is never exceeded but by the length of a closing answer', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 50, max: 3000 }),
        fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 12, maxLength: 12 }),
        fc.integer({ min: 5000, max: 60_000 }),
        async (base, outputs, tokens) => {
          let conversation = base
          const replies = outputs.map((outputTokens, a): ScriptedStep => {
            const usage = { inputTokens: conversation, outputTokens }
            conversation += outputTokens + 10
            return ({ toolChoice }) => (toolChoice === 'none' ? { text: 'closing', usage } : adding(a, usage))
          })
          const outcome = await agentWith([...replies, ...replies], { tokens, steps: 10 }).run('go')
          // How long the last answer gets is what nobody can know beforehand.
          const lastOutput = outputs[outcome.steps] ?? 0
          expect(total(outcome.usage) - lastOutput, JSON.stringify(outcome)).toBeLessThanOrEqual(tokens)
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('cost', () => {
  it('is what the tokens come to, cached ones at their own price, and is told by model', async () => {
    const script = [
      adding(1, { inputTokens: 1_000_000, cachedTokens: 400_000, outputTokens: 100_000 }),
      { text: 'done', usage: { inputTokens: 0, outputTokens: 0 } },
    ]
    const outcome = await createAgent({ model: scriptedModel(script), tools: [countingAdd()], prices }).run(
      'go',
    )
    // 0.6 × 2 + 0.4 × 0.5 + 0.1 × 8, and a few estimated tokens of the last reply.
    expect(outcome.cost).toBeCloseTo(2.2, 2)
    expect(Object.keys(outcome.usage.byModel)).toEqual(['scripted'])
    expect(total(outcome.usage.byModel.scripted as Usage)).toBe(total(outcome.usage))
  })

  it('is not told without prices', async () => {
    expect('cost' in (await createAgent({ model: scriptedModel(['done']) }).run('go'))).toBe(false)
  })

  it('is bounded: the run concludes while a closing answer can be paid', async () => {
    const usage = { inputTokens: 100_000, outputTokens: 1000 }
    const script = [...steps(4, usage), { text: 'closing', usage }]
    const outcome = expectDone(await agentWith(script, { cost: 1.2 }).run('go'))
    expect(outcome.stoppedBy).toMatchObject({ limit: 'cost', max: 1.2 })
    expect(outcome.cost).toBeLessThanOrEqual(1.2)
    expect(outcome.steps).toBe(4)
  })

  it('keeps at most a tenth of its limit for an answer that nobody knows the length of', async () => {
    const usage = { inputTokens: 100, outputTokens: 10 }
    const script = [...steps(3, usage), { text: 'answer', usage }]
    // 500 tokens of an answer would cost 0.004, and three answers are more than the limit.
    expect(expectDone(await agentWith(script, { cost: 0.01 }).run('go')).stoppedBy).toBeUndefined()
  })

  it('keeps no more for it than 500 tokens cost', async () => {
    const usage = { inputTokens: 18_400, outputTokens: 10 }
    // Spent 0.037, two requests 0.074, and three answers 0.012; three tenths of the limit would be 0.039.
    const outcome = await agentWith([adding(1, usage), 'answer'], { cost: 0.13 }).run('go')
    expect(expectDone(outcome).stoppedBy).toBeUndefined()
  })

  it('of a sub-agent is charged by its own model', async () => {
    const inner = {
      ...scriptedModel([{ text: 'found', usage: { inputTokens: 1_000_000, outputTokens: 0 } }]),
      id: 'small',
    }
    const helper = agentAsTool(createAgent({ model: inner }), { name: 'help', description: 'Helps.' })
    const model = scriptedModel([{ calls: [{ name: 'help', arguments: { task: 'look' } }] }, 'done'])
    const both = { ...prices, small: { input: 0.1, output: 0.4 } }
    const outcome = await createAgent({ model, tools: [helper], prices: both }).run('go')
    expect(outcome.cost).toBeCloseTo(0.1, 2)
    expect(Object.keys(outcome.usage.byModel).sort()).toEqual(['scripted', 'small'])
  })

  it('of a model without a price is charged at the dearest one, so that a limit holds', async () => {
    const spending = defineTool({
      name: 'spend',
      description: 'Asks a model.',
      input: z.object({}),
      run: (_args, { addUsage }) => {
        addUsage?.(
          { inputTokens: 1_000_000, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 },
          'nobody-knows',
        )
        return 'ok'
      },
    })
    const model = scriptedModel([{ calls: [{ name: 'spend' }] }, 'done'])
    const outcome = await createAgent({ model, tools: [spending], prices }).run('go')
    expect(outcome.cost).toBeCloseTo(2, 2)
  })

  it('takes a dated version for its model', async () => {
    const dated: Model = {
      ...scriptedModel([]),
      generate: async () => ({ ...(await reply()), model: 'scripted-2026-01-31' }),
    }
    const reply = () =>
      scriptedModel([{ text: 'done', usage: { inputTokens: 1_000_000, outputTokens: 0 } }]).generate(
        { messages: [], tools: [], toolChoice: 'auto' },
        { signal: new AbortController().signal },
      )
    const outcome = await createAgent({
      model: dated,
      prices: { ...prices, dear: { input: 99, output: 99 } },
    }).run('go')
    expect(outcome.cost).toBeCloseTo(2, 2)
    expect(Object.keys(outcome.usage.byModel)).toEqual(['scripted-2026-01-31'])
  })

  it.each([
    ['no prices at all', {}],
    ['no price for this model', { prices: { other: { input: 1, output: 1 } } }],
  ])('cannot be limited with %s', async (_what, options) => {
    const model = scriptedModel([])
    expect(() => createAgent({ model, limits: { cost: 1 }, ...options })).toThrow(
      expect.objectContaining({ code: 'missing_price' }),
    )
    const rejected = await rejectionOf(
      createAgent({ model, ...options }).run({ messages: 'go', limits: { cost: 1 } }),
    )
    expect(rejected).toMatchObject({ name: 'MisuseError', code: 'missing_price' })
  })

  it('needs the prices of all models that may answer', () => {
    const models = fallback([
      { ...scriptedModel([]), id: 'a' },
      { ...scriptedModel([]), id: 'b' },
    ])
    const a = { input: 1, output: 1 }
    expect(() => createAgent({ model: models, limits: { cost: 1 }, prices: { a } })).toThrow(
      /There is none for b:/,
    )
    createAgent({ model: models, limits: { cost: 1 }, prices: { a, b: a } })
  })

  it.each([
    { input: -1, output: 1 },
    { input: 1 },
    { input: Number.NaN, output: 1 },
    null,
    { input: 1, output: 1, cachedInput: '1' },
  ])('needs prices that are amounts, unlike %o', (price) => {
    expect(() => createAgent({ model: scriptedModel([]), prices: { m: price as never } })).toThrow(
      expect.objectContaining({ code: 'invalid_price' }),
    )
  })
})
