import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import {
  type AgentEvent,
  createAgent,
  defineTool,
  type JournalEntry,
  type Message,
  ModelError,
  memoryJournal,
  openaiChat,
} from '../../src/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { journalOf, journalThat } from '../support/journals.ts'
import { expectAborted, expectDone, expectSendable } from '../support/outcome.ts'
import { countingAdd, deaf } from '../support/tools.ts'

const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }

describe('one run at a time', () => {
  const approvable = () => {
    const add = countingAdd()
    return { add, tools: [{ ...add, needsApproval: true }] }
  }

  it('a button that is pressed twice resumes a run once', async () => {
    const journal = memoryJournal()
    const { add, tools } = approvable()
    const agent = createAgent({ model: scriptedModel([adding, 'ok']), tools, journal })
    const paused = await agent.run('go', { runId: 'r' })
    if (paused.status !== 'waiting') throw new Error(paused.status)
    const decisions = [{ callId: paused.approvals[0]?.callId ?? '', approved: true }]
    const pressed = await Promise.allSettled([
      agent.resume('r', { decisions }),
      agent.resume('r', { decisions }),
    ])
    expect(pressed.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(pressed[1]).toMatchObject({ reason: { code: 'run_active' } })
    expect(add.runs).toHaveLength(1)
    expectDone(await agent.resume('r'))
  })

  it('two runs with one id do not mix', async () => {
    const journal = memoryJournal()
    const agent = createAgent({ model: scriptedModel(['one', 'two']), journal })
    const both = await Promise.allSettled([agent.run('go', { runId: 'r' }), agent.run('go', { runId: 'r' })])
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  })
})

describe('stop means stop', () => {
  it('no tool begins after an abort that comes while its intent is written', async () => {
    const add = countingAdd()
    const controller = new AbortController()
    const journal = journalThat({
      append: async (_id, entries) => {
        if (entries.some(({ type }) => type === 'intent')) controller.abort()
        return true
      },
    })
    const agent = createAgent({ model: scriptedModel([adding]), tools: [add], journal })
    const outcome = expectAborted(await agent.run('go', { signal: controller.signal }))
    expect(outcome.reason).toBe('cancelled')
    expect(add.runs).toEqual([])
    expectSendable(outcome)
  })

  it('no further tool begins after an abort from a watcher', async () => {
    const add = countingAdd()
    const controller = new AbortController()
    const model = scriptedModel([
      { calls: [...(adding as { calls: [] }).calls, { name: 'add' }, { name: 'add' }] },
    ])
    await createAgent({ model, tools: [add] }).run('go', {
      signal: controller.signal,
      onEvent: ({ type }) => {
        if (type === 'transition') controller.abort()
      },
    })
    expect(add.runs).toEqual([])
  })

  it('a journal that hangs does not hold an aborted run for longer than a second', async () => {
    vi.useFakeTimers()
    const journal = journalThat({ append: () => new Promise(() => {}) })
    const controller = new AbortController()
    const running = createAgent({ model: scriptedModel([]), journal }).run('go', {
      signal: controller.signal,
    })
    await vi.advanceTimersByTimeAsync(5000)
    controller.abort()
    await vi.advanceTimersByTimeAsync(1000)
    expect(expectAborted(await running)).toMatchObject({ reason: 'journal_error' })
    expect(vi.getTimerCount()).toBe(0)
    vi.useRealTimers()
  })

  it('time that runs out is told apart from a cancellation', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const signal = AbortSignal.abort(new DOMException('time is up', 'TimeoutError'))
    expect(expectAborted(await createAgent({ model: scriptedModel([]) }).run('go', { signal })).reason).toBe(
      'timeout',
    )
    vi.useRealTimers()
  })

  it('every call that began is shown to end, and counted', async () => {
    const model = scriptedModel([{ calls: [{ name: 'deaf' }, { name: 'add', arguments: { a: 1, b: 2 } }] }])
    const run = createAgent({ model, tools: [deaf(), countingAdd()] }).stream('go')
    const events: AgentEvent[] = []
    for await (const event of run) {
      events.push(event)
      if (event.type === 'tool.finished' && event.name === 'add') run.abort()
    }
    const ends = events.flatMap((event) =>
      event.type === 'tool.finished' ? [[event.name, event.error]] : [],
    )
    expect(ends).toEqual([
      ['add', undefined],
      ['deaf', 'cancelled'],
    ])
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'transition', from: 'executingTools', to: 'aborted', event: 'CANCEL' }),
    )
    expect((await run.outcome).toolCalls).toEqual({ total: 2, failed: 1 })
  })

  it('text that was streamed before a stop is not lost', async () => {
    const model = scriptedModel([
      async (_request, { onDelta }): Promise<ScriptedStep> => {
        onDelta?.({ text: 'Half an ans' })
        return HANG
      },
    ])
    const run = createAgent({ model }).stream('go')
    for await (const event of run) if (event.type === 'model.delta') run.abort()
    expect(expectAborted(await run.outcome).partial).toBe('Half an ans')
  })

  it('nothing is heard of an effect after the run has ended', async () => {
    let emitLater: (() => void) | undefined
    const tool = defineTool({
      name: 'late',
      description: 'Emits late.',
      input: z.object({}),
      run: (_args, { emit }) => {
        emitLater = () => emit('late')
        return 'ok'
      },
    })
    const events: string[] = []
    await createAgent({ model: scriptedModel([{ calls: [{ name: 'late' }] }, 'ok']), tools: [tool] }).run(
      'go',
      {
        onEvent: ({ type }) => events.push(type),
      },
    )
    emitLater?.()
    expect(events.at(-1)).toBe('run.finished')
  })
})

describe('a model service that breaks its contract', () => {
  const answering = (reply: unknown) => ({ id: 'odd', generate: async () => reply as never })

  it.each([[undefined], [null], ['text'], [7]])('with %o is told so', async (reply) => {
    const outcome = expectAborted(await createAgent({ model: answering(reply) }).run('go'))
    expect(outcome).toMatchObject({
      reason: 'model_error',
      error: { code: 'malformed_reply', retryable: false },
    })
    expect(outcome.message).toContain('model "odd" gave back something that is no ModelReply')
  })

  it.each([
    ['only text', { text: 'hi' }],
    ['another text in its message', { text: 'hi', message: { role: 'user', content: null } }],
    ['calls that are none', { text: 'hi', toolCalls: [null, {}, 'x'] }],
    ['calls that are no list', { text: 'hi', toolCalls: 'x' }],
  ])('with %s is mended', async (_what, reply) => {
    const outcome = expectDone(await createAgent({ model: answering(reply) }).run('go'))
    expect(outcome.transcript.at(-1)).toEqual({ role: 'assistant', content: 'hi' })
    expect(Number.isFinite(outcome.usage.inputTokens)).toBe(true)
    expectSendable(outcome)
  })

  it('by never answering is given up', async () => {
    vi.useFakeTimers()
    const running = createAgent({ model: scriptedModel([HANG]), modelTimeoutMs: 1000, modelRetries: 0 }).run(
      'go',
    )
    await vi.advanceTimersByTimeAsync(1000)
    expect(expectAborted(await running).error?.code).toBe('timeout')
    vi.useRealTimers()
  })

  it.each([Number.NaN, -5, Number.POSITIVE_INFINITY])(
    'by asking to wait %d ms is not heeded',
    async (retryAfterMs) => {
      const random = vi.spyOn(Math, 'random').mockReturnValue(0)
      const delays: number[] = []
      const busy = new ModelError('overloaded', 'busy', { retryable: true, retryAfterMs })
      await createAgent({ model: scriptedModel([busy, 'ok']) }).run('go', {
        onEvent: (event) => event.type === 'retry.scheduled' && delays.push(event.delayMs),
      })
      expect(delays).toEqual([0])
      random.mockRestore()
    },
  )
})

describe('histories that nobody should have', () => {
  it.each([
    ['tool calls that are an object', { tool_calls: {} }],
    ['tool calls that are a text', { tool_calls: 'abc' }],
    ['tool calls that are none', { tool_calls: [null] }],
    [
      'calls of custom tools',
      { tool_calls: [{ id: 'x', type: 'custom', custom: { name: 'f', input: '' } }] },
    ],
    ['content that is a number', { content: 5 }],
  ])('with %s do not keep a run from beginning', async (_what, fields) => {
    const odd = { role: 'assistant', content: 'hm', ...fields } as unknown as Message
    const outcome = await createAgent({ model: scriptedModel(['ok']) }).run([
      odd,
      { role: 'user', content: 'go' },
    ])
    expectSendable(expectDone(outcome))
  })

  it('with 150,000 messages do not either', async () => {
    const many = Array.from({ length: 150_000 }, (): Message => ({ role: 'user', content: 'x' }))
    expectDone(await createAgent({ model: scriptedModel(['ok']) }).run(many))
  })

  it('that are not JSON are refused before anything is recorded', async () => {
    const cyclic: Record<string, unknown> = { role: 'user', content: 'go' }
    cyclic.self = cyclic
    const journal = memoryJournal()
    const agent = createAgent({ model: scriptedModel([]), journal })
    await expect(agent.run([cyclic as unknown as Message], { runId: 'r' })).rejects.toMatchObject({
      code: 'invalid_input',
    })
    expect(await journal.load('r')).toBeUndefined()
  })

  it('may be changed by the caller once the run has begun', async () => {
    const messages: Message[] = [{ role: 'user', content: 'go' }]
    const model = scriptedModel(['ok'])
    const running = createAgent({ model, journal: memoryJournal() }).run(messages)
    messages.length = 0
    expectDone(await running)
    expect(model.requests[0]?.messages).toHaveLength(1)
  })
})

describe('journals in trouble', () => {
  it('that are down end the run with a reason', async () => {
    const down = () => {
      throw new Error('db down')
    }
    const journal = journalThat({ load: down, append: down })
    const model = scriptedModel([])
    const agent = createAgent({ model, journal })
    expect(expectAborted(await agent.run('go'))).toMatchObject({
      reason: 'journal_error',
      message: 'The journal failed: db down',
    })
    expect(model.requests).toEqual([])
    await expect(agent.resume('r')).rejects.toMatchObject({ code: 'journal_error' })
  })

  it('keep limits that are switched off', async () => {
    const journal = memoryJournal()
    const limits = { steps: Number.POSITIVE_INFINITY }
    const agent = createAgent({ model: scriptedModel(['ok']), journal, limits })
    await agent.run('go', { runId: 'r' })
    expect(expectDone(await agent.resume('r')).output).toBe('ok')
  })

  it('keep a run as it ended, whatever comes after', async () => {
    const journal = memoryJournal()
    const agent = createAgent({ model: scriptedModel(['ok']), journal })
    await agent.run('go', { runId: 'r' })
    const entries = ((await journal.load('r')) ?? []).filter(({ type }) => type !== 'ended')
    const late: JournalEntry = { type: 'event', at: 0, event: { type: 'cancelled' } }
    for (const kept of [entries, [...entries, late]]) {
      const again = await journalOf(kept)
      const second = createAgent({ model: scriptedModel([]), journal: again })
      expectDone(await second.resume('r', { signal: AbortSignal.abort() }))
    }
  })

  it.each([
    ['a text for a yes', [{ callId: 'c', approved: 'false' }]],
    ['nothing', [null]],
    ['no list', {}],
  ])('take no decision that is %s', async (_what, decisions) => {
    const agent = createAgent({ model: scriptedModel([]), journal: memoryJournal() })
    await expect(agent.resume('r', { decisions: decisions as never })).rejects.toMatchObject({
      code: 'invalid_decision',
    })
  })

  it('take no decision on a call that there is not', async () => {
    const journal = memoryJournal()
    const tools = [{ ...countingAdd(), needsApproval: true }]
    const agent = createAgent({ model: scriptedModel([adding]), tools, journal })
    await agent.run('go', { runId: 'r' })
    await expect(
      agent.resume('r', { decisions: [{ callId: 'other', approved: true }] }),
    ).rejects.toMatchObject({
      code: 'unknown_call',
    })
  })
})

describe('callbacks that fail later', () => {
  it('cost a warning where they watch, and an approval where they decide', async () => {
    // vitest fails the run on an unhandled rejection.
    const tools = [{ ...countingAdd(), needsApproval: () => Promise.reject(new Error('no')) }]
    const outcome = await createAgent({ model: scriptedModel([adding]), tools }).run('go', {
      onEvent: async ({ type }) => {
        if (type === 'run.started') throw new Error('later')
      },
    })
    expect(outcome.status).toBe('waiting')
    expectSendable(outcome)
  })
})

describe('tools in odd shapes', () => {
  const call = (name: string, args: unknown = {}): ScriptedStep => ({ calls: [{ name, arguments: args }] })
  const resultOf = async (tool: ReturnType<typeof defineTool>, args: unknown = {}) => {
    const model = scriptedModel([call(tool.name, args), 'ok'])
    const { transcript } = expectDone(await createAgent({ model, tools: [tool] }).run('go'))
    return transcript.find(({ role }) => role === 'tool')?.content
  }
  const base = { name: 't', description: 'd', input: z.object({}) }

  it('may wait for as long as it takes', async () => {
    const tool = defineTool({ ...base, timeoutMs: Number.POSITIVE_INFINITY, run: async () => 'ok' })
    expect(await resultOf(tool)).toBe('ok')
  })

  it.each([0, -1, Number.NaN])('may not have a timeout of %d', (timeoutMs) => {
    expect(() => defineTool({ ...base, timeoutMs, run: () => 'ok' })).toThrow(/above 0/)
  })

  it('may have schemas that are asynchronous', async () => {
    const input = z.object({ a: z.number().refine(async (a) => a > 1, 'must be above 1') })
    const tool = defineTool({ ...base, input, run: ({ a }) => a })
    expect(await resultOf(tool, { a: 2 })).toBe('2')
    expect(await resultOf(tool, { a: 1 })).toContain('a: must be above 1')
  })

  it('may reject with what throws when it is looked at', async () => {
    const hostile = Object.defineProperty(new Error('x'), 'name', {
      get() {
        throw new Error('trap')
      },
    })
    const tool = defineTool({ ...base, run: () => Promise.reject(hostile) })
    expect(await resultOf(tool)).toContain('Error (failed)')
  })

  it('are told who calls, for whom', async () => {
    const seen: unknown[] = []
    const tool = defineTool({
      ...base,
      run: (_args, { runId, callId, context }) => {
        seen.push({ runId, callId, context })
        return 'ok'
      },
    })
    const model = scriptedModel([{ calls: [{ name: 't', id: 'c1' }] }, 'ok'])
    await createAgent({ model, tools: [tool] }).run('go', { runId: 'r', context: { user: 'ada' } })
    expect(seen).toEqual([{ runId: 'r', callId: 'c1', context: { user: 'ada' } }])
  })

  it('must have a schema and a function', () => {
    const ofZod3 = { _def: { typeName: 'ZodObject' }, parse: () => ({}) }
    expect(() => defineTool({ ...base, input: ofZod3 as never, run: () => 1 })).toThrow(/Tool "t"/)
    expect(() => defineTool({ ...base, input: 'text' as never, run: () => 1 })).toThrow(/Tool "t"/)
    expect(() => defineTool({ ...base } as never)).toThrow(/no run function/)
  })
})

describe('options of plain JavaScript', () => {
  const model = scriptedModel([])
  it.each([
    [{ model, maxSteps: 3 }, /knows no option "maxSteps"/],
    [{ model, tools: {} }, /tools must be an array/],
    [{ model, memory: {} }, /memory must have a view/],
    [{ model, journal: {} }, /journal must have the functions/],
    [{ model, modelTimeoutMs: 0 }, /modelTimeoutMs must be a number of milliseconds above 0/],
    [undefined, /needs a model/],
  ])('%j are refused with what is wrong', (options, message) => {
    expect(() => createAgent(options as never)).toThrow(message)
  })

  it.each([[undefined], [null], [{}], [42], [{ messages: 5 }]])(
    'an input of %j is refused',
    async (input) => {
      await expect(createAgent({ model }).run(input as never)).rejects.toMatchObject({ name: 'MisuseError' })
    },
  )

  it('a timeout of a model must be one', () => {
    expect(() => openaiChat('m', { baseURL: 'http://localhost:1', timeoutMs: Number.NaN })).toThrow(
      /timeoutMs/,
    )
  })
})

it('a stream that is read late costs no more for each event', async () => {
  const pieces = Array<string>(50_000).fill('x')
  const run = createAgent({ model: scriptedModel([{ pieces }]) }).stream('go')
  await run.outcome
  let read = 0
  for await (const _event of run) read++
  expect(read).toBeGreaterThan(50_000)
})
