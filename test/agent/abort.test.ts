import { getEventListeners } from 'node:events'

import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'

import { z } from 'zod'
import { type AgentEvent, type AgentOptions, createAgent, defineTool, ModelError } from '../../src/index.ts'
import { HANG, scriptedModel } from '../../src/testing/index.ts'
import { expectAborted, expectDone, expectSendable } from '../support/outcome.ts'
import { countingAdd, deaf, deferred, returning, throwing } from '../support/tools.ts'

const callDeafAndAdd = {
  calls: [{ name: 'deaf' }, { name: 'add', arguments: { a: 1, b: 2 } }],
}

/** Runs an agent and aborts it on the first event that fits. */
async function abortOn(
  fits: (event: AgentEvent) => boolean,
  agent: ReturnType<typeof createAgent>,
  reason?: unknown,
) {
  const controller = new AbortController()
  const run = agent.stream('go', { signal: controller.signal })
  for await (const event of run) if (fits(event)) controller.abort(reason)
  return { outcome: expectAborted(await run.outcome), signal: controller.signal }
}

describe('aborting', () => {
  it('settles although a tool is deaf, and answers every open call', async () => {
    const agent = createAgent({ model: scriptedModel([callDeafAndAdd]), tools: [deaf(), countingAdd()] })
    const { outcome } = await abortOn((event) => event.type === 'tool.finished', agent)
    expect(outcome.reason).toBe('cancelled')
    expect(outcome.transcript.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'go'],
      ['assistant', null],
      ['tool', expect.stringContaining('Error (cancelled)')],
      ['tool', '3'],
    ])
    expectSendable(outcome)
  })

  it('leaves no timer running for a model that is deaf', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const agent = createAgent({ model: scriptedModel([HANG]) })
    const { outcome } = await abortOn((event) => event.type === 'model.started', agent)
    expect(outcome.reason).toBe('cancelled')
    await vi.advanceTimersByTimeAsync(0)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('lets the conversation go on', async () => {
    const model = scriptedModel([callDeafAndAdd, 'Let us go on.'])
    const agent = createAgent({ model, tools: [deaf(), countingAdd()] })
    const { outcome } = await abortOn((event) => event.type === 'tool.finished', agent)
    const next = await agent.run([...outcome.transcript, { role: 'user', content: 'and now?' }])
    expect(expectDone(next).output).toBe('Let us go on.')
  })

  it('aborts the signals that the model call and the tools were given', async () => {
    const signals: AbortSignal[] = []
    const listening = defineTool({
      name: 'listen',
      description: 'Keeps its signal.',
      input: z.object({}),
      run: (_args, { signal }) => {
        signals.push(signal)
        return new Promise(() => {})
      },
    })
    const model = scriptedModel([{ calls: [{ name: 'listen' }] }])
    await abortOn((event) => event.type === 'tool.started', createAgent({ model, tools: [listening] }))
    const waiting = {
      id: 'm',
      generate: (_request: unknown, io: { signal: AbortSignal }) => {
        signals.push(io.signal)
        return new Promise<never>(() => {})
      },
    }
    await abortOn((event) => event.type === 'model.started', createAgent({ model: waiting }))
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
  })

  it('carries the reason that the caller gave', async () => {
    const agent = createAgent({ model: scriptedModel([HANG]) })
    const { outcome } = await abortOn(
      (event) => event.type === 'model.started',
      agent,
      new Error('client left'),
    )
    expect(outcome.message).toBe('client left')
  })

  it('before the start calls neither model nor tool', async () => {
    const model = scriptedModel([])
    const outcome = await createAgent({ model }).run('go', { signal: AbortSignal.abort() })
    expect(expectAborted(outcome).reason).toBe('cancelled')
    expect(model.requests).toEqual([])
  })

  it('leaves no listener on the signal of the caller, however a run ends', async () => {
    const controller = new AbortController()
    const model = scriptedModel(['one', 'two', new Error('three')])
    const agent = createAgent({ model })
    for (let i = 0; i < 3; i++) await agent.run('go', { signal: controller.signal })
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    const { signal } = await abortOn(
      (event) => event.type === 'model.started',
      createAgent({ model: scriptedModel([HANG]) }),
    )
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  it('makes a late result change nothing', async () => {
    const late = deferred<string>()
    const slow = returning(late.promise, 'slow')
    const agent = createAgent({ model: scriptedModel([{ calls: [{ name: 'slow' }] }]), tools: [slow] })
    const { outcome } = await abortOn((event) => event.type === 'tool.started', agent)
    const before = structuredClone(outcome.transcript)
    late.resolve('too late')
    await late.promise
    expect(outcome.transcript).toEqual(before)
  })

  it('takes a late rejection of model and tool without an unhandled rejection', async () => {
    const late = deferred<never>()
    const slow = returning(late.promise, 'slow')
    const agent = createAgent({ model: scriptedModel([{ calls: [{ name: 'slow' }] }]), tools: [slow] })
    await abortOn((event) => event.type === 'tool.started', agent)
    await abortOn(
      (event) => event.type === 'model.started',
      createAgent({ model: { id: 'm', generate: () => late.promise } }),
    )
    // vitest fails the run on an unhandled rejection.
    late.reject(new Error('too late'))
    await expect(late.promise).rejects.toThrow('too late')
  })
})

describe('aborting at any time', () => {
  it('settles the run, with a transcript that can go on, and leaves nothing behind', async () => {
    const script = () =>
      scriptedModel([callDeafAndAdd, { calls: [{ name: 'add', arguments: { a: 2, b: 2 } }] }, 'The answer.'])
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 24 }), fc.boolean(), fc.boolean(), async (moment, isDeaf, later) => {
        const tools = [isDeaf ? deaf() : throwing(new Error('no'), 'deaf'), countingAdd()]
        const controller = new AbortController()
        let seen = 0
        const run = createAgent({ model: script(), tools }).stream('go', { signal: controller.signal })
        for await (const event of run) {
          // A deaf tool would hold the run for ever: nothing else is under way then.
          const isStuck = isDeaf && event.type === 'tool.finished'
          if (seen++ !== moment && !isStuck) continue
          if (later) queueMicrotask(() => controller.abort())
          else controller.abort()
        }
        const outcome = await run.outcome
        expectSendable(outcome)
        expect(outcome.status === 'aborted' ? outcome.reason : outcome.status).toMatch(/^(?:cancelled|done)$/)
        expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
      }),
      { numRuns: 60 },
    )
    // vitest fails the run on an unhandled rejection.
  })
})

describe('time', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('out for a deaf tool is told to the model, and the run goes on', async () => {
    const slow = defineTool({
      name: 'slow',
      description: 'Never settles.',
      input: z.object({}),
      timeoutMs: 50,
      run: () => new Promise(() => {}),
    })
    const model = scriptedModel([{ calls: [{ name: 'slow' }] }, 'I could not find out.'])
    const running = createAgent({ model, tools: [slow] }).run('go')
    await vi.advanceTimersByTimeAsync(49)
    expect(model.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    const outcome = expectDone(await running)
    expect(outcome.transcript[2]?.content).toContain('Error (timeout): slow did not finish within 50 ms')
  })

  it('is not held by timers once a run has ended', async () => {
    const model = scriptedModel([{ calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, '3'])
    await createAgent({ model, tools: [countingAdd()] }).run('go')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is not kept for a deaf model once the run is aborted', async () => {
    const controller = new AbortController()
    const running = createAgent({ model: scriptedModel([HANG]) }).run('go', { signal: controller.signal })
    await vi.advanceTimersByTimeAsync(1)
    controller.abort()
    expect(expectAborted(await running).reason).toBe('cancelled')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('to wait before a retry ends at once when the run is aborted', async () => {
    const busy = new ModelError('rate_limit', 'busy', { retryable: true, retryAfterMs: 20_000 })
    const controller = new AbortController()
    const events: AgentEvent[] = []
    const running = createAgent({ model: scriptedModel([busy]) }).run('go', {
      signal: controller.signal,
      onEvent: (event) => {
        events.push(event)
        if (event.type === 'retry.scheduled') controller.abort()
      },
    })
    expect(expectAborted(await running).reason).toBe('cancelled')
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'retry.scheduled', delayMs: 20_000, failures: 1 }),
    )
    expect(vi.getTimerCount()).toBe(0)
  })

  it('to wait before a retry is what the provider asked for, but never more than 30 s', async () => {
    const busy = new ModelError('rate_limit', 'busy', { retryable: true, retryAfterMs: 3_600_000 })
    const model = scriptedModel([busy, 'ok'])
    const running = createAgent({ model }).run('go')
    await vi.advanceTimersByTimeAsync(29_999)
    expect(model.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expectDone(await running)
  })

  it('to wait before a retry grows, with jitter, where the provider asks for none', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.5)
    const busy = new ModelError('overloaded', 'busy', { retryable: true })
    const delays: number[] = []
    const running = createAgent({ model: scriptedModel([busy, busy, busy, 'ok']), modelRetries: 3 }).run(
      'go',
      {
        onEvent: (event) => {
          if (event.type === 'retry.scheduled') delays.push(event.delayMs)
        },
      },
    )
    await vi.runAllTimersAsync()
    expectDone(await running)
    expect(delays).toEqual([250, 500, 1000])
    random.mockRestore()
  })

  it('to wait before a retry is as long as the agent says, and as often, unless the provider asks for more', async () => {
    const busy = new ModelError('overloaded', 'busy', { retryable: true })
    const limited = new ModelError('rate_limit', 'busy', { retryable: true, retryAfterMs: 7000 })
    const delaysOf = async (options: Pick<AgentOptions, 'modelRetries' | 'modelRetryDelaysMs'>) => {
      const delays: number[] = []
      const model = scriptedModel([busy, limited, busy, busy, busy])
      const running = createAgent({ model, ...options }).run('go', {
        onEvent: (event) => {
          if (event.type === 'retry.scheduled') delays.push(event.delayMs)
        },
      })
      await vi.runAllTimersAsync()
      expect(expectAborted(await running).reason).toBe('model_error')
      return delays
    }
    expect(await delaysOf({ modelRetryDelaysMs: [1000, 2000, 4000] })).toEqual([1000, 7000, 4000])
    expect(await delaysOf({ modelRetries: 4, modelRetryDelaysMs: [40_000, 1] })).toEqual([40_000, 7000, 1, 1])
  })

  it.each([[[]], [[-1]], [[Number.NaN]], [['1']], [[Number.POSITIVE_INFINITY]], [5]])(
    'to wait before a retry cannot be %j',
    (delays) => {
      const wrong = { modelRetryDelaysMs: delays as never }
      const misuse = expect.objectContaining({
        code: 'invalid_timeout',
        message: expect.stringContaining('modelRetryDelaysMs must be a list of milliseconds'),
      })
      expect(() => createAgent({ model: scriptedModel([]), ...wrong })).toThrow(misuse)
    },
  )
})
