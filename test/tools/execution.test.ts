import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import {
  type AgentEvent,
  createAgent,
  defineTool,
  type Model,
  ModelError,
  memoryJournal,
  type Tool,
} from '../../src/index.ts'
import { type ScriptedCall, scriptedModel } from '../../src/testing/index.ts'
import { journalOf } from '../support/journals.ts'
import { expectAborted, expectDone, expectSendable } from '../support/outcome.ts'
import { countingAdd, deferred, throwing } from '../support/tools.ts'

const empty = z.object({})
const numbered = z.object({ n: z.number() })

/** Runs an agent whose model makes these calls in one reply, then answers. */
async function runCalls(tools: readonly Tool[], calls: readonly ScriptedCall[], options: object = {}) {
  const model = scriptedModel([{ calls }, 'done'])
  const outcome = expectDone(await createAgent({ model, tools, ...options }).run('go'))
  expectSendable(outcome)
  return outcome.transcript.filter(({ role }) => role === 'tool').map(({ content }) => content)
}

/** A tool that fails so often, then succeeds, and keeps the keys that it was given. */
function flaky(failures: number, error: unknown, options: Partial<Parameters<typeof defineTool>[0]> = {}) {
  const keys: string[] = []
  const tool = defineTool({
    name: 'flaky',
    description: 'Fails at first.',
    ...options,
    input: empty,
    run: (_args, { idempotencyKey }) => {
      keys.push(idempotencyKey)
      if (keys.length <= failures) throw error
      return 'ok'
    },
  })
  return { tool, keys }
}

const passing = Object.assign(new Error('busy'), { retryable: true })

describe('a tool that fails in a way that may pass', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    vi.spyOn(Math, 'random').mockReturnValue(1)
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  const runFlaky = async (tool: Tool) => {
    const events: AgentEvent[] = []
    const model = scriptedModel([{ calls: [{ name: 'flaky' }] }, 'done'])
    const running = createAgent({ model, tools: [tool] }).run('go', {
      onEvent: (event) => events.push(event),
    })
    await vi.runAllTimersAsync()
    const { transcript } = expectDone(await running)
    const retries = events.filter(({ type }) => type === 'tool.retried')
    return { result: transcript.find(({ role }) => role === 'tool')?.content, retries }
  }

  it('is tried once more, with the same key, after a wait', async () => {
    const { tool, keys } = flaky(1, passing)
    const { result, retries } = await runFlaky(tool)
    expect(result).toBe('ok')
    expect(keys).toHaveLength(2)
    expect(new Set(keys).size).toBe(1)
    expect(retries).toEqual([
      expect.objectContaining({ name: 'flaky', failures: 1, delayMs: 200, message: 'busy' }),
    ])
  })

  it('is tried as often as it says, waiting longer each time', async () => {
    const { tool, keys } = flaky(9, passing, { retries: 3 })
    const { result, retries } = await runFlaky(tool)
    expect(result).toEqual(expect.stringContaining('Error (failed): flaky failed: busy'))
    expect(keys).toHaveLength(4)
    expect(retries.map((event) => (event.type === 'tool.retried' ? event.delayMs : 0))).toEqual([
      200, 400, 800,
    ])
  })

  it('waits as long as it says, and is tried again as often as it says how long', async () => {
    const { tool, keys } = flaky(9, passing, { retryDelaysMs: [500, 1000, 2000] })
    const delays = (await runFlaky(tool)).retries.map((event) => 'delayMs' in event && event.delayMs)
    expect(delays).toEqual([500, 1000, 2000])
    expect(keys).toHaveLength(4)
    const more = flaky(9, passing, { retries: 3, retryDelaysMs: [0, 7] })
    expect((await runFlaky(more.tool)).retries.map((event) => 'delayMs' in event && event.delayMs)).toEqual([
      0, 7, 7,
    ])
  })

  it('is not tried again where it says so, or where the error is of another kind', async () => {
    const once = flaky(1, passing, { retries: 0 })
    await runFlaky(once.tool)
    expect(once.keys).toHaveLength(1)
    const final = flaky(1, new Error('no such customer'))
    await runFlaky(final.tool)
    expect(final.keys).toHaveLength(1)
  })

  it('judges its own errors where it wants to', async () => {
    const { tool, keys } = flaky(1, new Error('try me'), {
      isTransient: (error) => (error as Error).message === 'try me',
    })
    expect((await runFlaky(tool)).result).toBe('ok')
    expect(keys).toHaveLength(2)
  })

  it('does not wait any longer once the run is stopped', async () => {
    const { tool, keys } = flaky(9, passing, { retries: 5 })
    const controller = new AbortController()
    const outcome = await createAgent({
      model: scriptedModel([{ calls: [{ name: 'flaky' }] }]),
      tools: [tool],
    }).run('go', {
      signal: controller.signal,
      onEvent: ({ type }) => {
        if (type === 'tool.retried') controller.abort()
      },
    })
    expect(expectAborted(outcome).reason).toBe('cancelled')
    expect(keys).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a timeout that a tool throws', () => {
  const hostile = {
    get name(): string {
      throw new Error('no name')
    },
  }
  it.each([
    [
      'of its own signal',
      new DOMException('too slow', 'TimeoutError'),
      'timeout): fail timed out: TimeoutError: too slow. It may',
    ],
    [
      'of the network',
      Object.assign(new Error('connect'), { code: 'ETIMEDOUT' }),
      'timeout): fail timed out: connect. It may',
    ],
    [
      'of fetch',
      new TypeError('fetch failed', { cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } }),
      'timeout): fail timed out: TypeError: fetch failed',
    ],
    [
      'of axios',
      Object.assign(new Error('slow'), { code: 'ECONNABORTED' }),
      'timeout): fail timed out: slow',
    ],
    [
      'of the OpenAI SDK',
      Object.assign(new Error('slow'), { name: 'APIConnectionTimeoutError' }),
      'timeout): fail timed out: APIConnectionTimeoutError: slow',
    ],
    [
      'of a model that it asks',
      new ModelError('timeout', 'slow', { retryable: true }),
      'timeout): fail timed out: ModelError: slow',
    ],
    ['that is none', new Error('too slow'), 'failed): fail failed: too slow'],
    ['that cannot be read', hostile, 'failed): fail failed: '],
  ])('%s is told apart from other errors', async (_what, thrown, text) => {
    const [content] = await runCalls([{ ...throwing(thrown), retries: 0 }], [{ name: 'fail' }])
    expect(content).toContain(`Error (${text}`)
  })
})

describe('a connection that breaks', () => {
  const reset = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
  const refused = new Error('fetch failed', {
    cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
  })

  it.each([
    ['midway, of a tool that may run twice', reset, { idempotent: true }, 2],
    ['midway, of a tool that may not', reset, {}, 1],
    ['before it stood, of any tool', refused, {}, 2],
  ])('%s', async (_what, error, options, times) => {
    vi.useFakeTimers()
    const { tool, keys } = flaky(1, error, options)
    const running = createAgent({
      model: scriptedModel([{ calls: [{ name: 'flaky' }] }, 'ok']),
      tools: [tool],
    }).run('go')
    await vi.runAllTimersAsync()
    await running
    expect(keys).toHaveLength(times)
    vi.useRealTimers()
  })
})

describe('calls of one reply', () => {
  it('that ask for the same run once, and each gets the answer', async () => {
    const add = countingAdd()
    const results = await runCalls(
      [add],
      [
        { name: 'add', arguments: { a: 1, b: 2 } },
        { name: 'add', arguments: '{"b": 2, "a": 1}' },
        { name: 'add', arguments: { a: 2, b: 1 } },
      ],
    )
    expect(results).toEqual(['3', '3', '3'])
    expect(add.runs).toHaveLength(2)
  })

  it('wait for those before a sequential one, and those behind it wait for it', async () => {
    const log: string[] = []
    const logging = (name: string, sequential: boolean) =>
      defineTool({
        name,
        description: 'Logs.',
        input: numbered,
        sequential,
        run: async ({ n }) => {
          log.push(`${name}${n} begins`)
          await new Promise(setImmediate)
          log.push(`${name}${n} ends`)
          return `${name}${n}`
        },
      })
    const calls = [
      { name: 'read', arguments: { n: 1 } },
      { name: 'read', arguments: { n: 2 } },
      { name: 'write', arguments: { n: 3 } },
      { name: 'write', arguments: { n: 4 } },
      { name: 'read', arguments: { n: 5 } },
    ]
    const results = await runCalls([logging('read', false), logging('write', true)], calls)
    expect(results).toEqual(['read1', 'read2', 'write3', 'write4', 'read5'])
    expect(log).toEqual([
      'read1 begins',
      'read2 begins',
      'read1 ends',
      'read2 ends',
      'write3 begins',
      'write3 ends',
      'write4 begins',
      'write4 ends',
      'read5 begins',
      'read5 ends',
    ])
  })

  it('go on behind a sequential one that failed', async () => {
    const tools = [
      defineTool({
        name: 'fail',
        description: 'd',
        input: empty,
        sequential: true,
        run: () => Promise.reject('no'),
      }),
      countingAdd(),
    ]
    const results = await runCalls(tools, [{ name: 'fail' }, { name: 'add', arguments: { a: 1, b: 2 } }])
    expect(results).toEqual([expect.stringContaining('Error (failed): fail failed: no'), '3'])
  })
})

describe('the length of a result', () => {
  const long = (options: object) =>
    defineTool({
      name: 'read',
      description: 'Reads.',
      input: empty,
      ...options,
      run: () => `${'<'.repeat(1000)}${'中'.repeat(1000)}`,
    })

  it('can be bounded in characters, the note of the gap included', async () => {
    const [content = ''] = await runCalls([long({ maxResultCharacters: 800 })], [{ name: 'read' }])
    expect(content?.length).toBeLessThanOrEqual(800)
    expect(content?.length).toBeGreaterThan(700)
    expect(content).toMatch(/^<+\n… \(\d+ of 2000 characters left out; ask for less, or for a part\) …\n中+$/)
  })

  it('is bounded in tokens as well, whichever is less', async () => {
    const [content] = await runCalls(
      [long({ maxResultTokens: 50, maxResultCharacters: 800 })],
      [{ name: 'read' }],
    )
    expect(content?.length).toBeLessThan(200)
  })
})

describe('the number of calls at once', () => {
  /** Counts how many of its calls run at once. */
  function counting(name: string, options: { concurrency?: number } = {}) {
    const state = { now: 0, most: 0 }
    const tool = defineTool({
      name,
      description: 'Counts.',
      input: numbered,
      ...options,
      run: async () => {
        state.most = Math.max(state.most, ++state.now)
        await new Promise(setImmediate)
        state.now--
        return 'ok'
      },
    })
    return { tool, state }
  }
  const calls = (name: string) => Array.from({ length: 6 }, (_, n) => ({ name, arguments: { n } }))
  /** Calls at the first step of whichever run asks, and answers at the second. */
  const callsThenDone = (name: string): Model => ({
    ...scriptedModel([]),
    generate: (request, io) =>
      scriptedModel([request.messages.length === 1 ? { calls: calls(name) } : 'done']).generate(request, io),
  })

  it('is bounded for a tool, over all runs of an agent', async () => {
    const { tool, state } = counting('narrow', { concurrency: 2 })
    const agent = createAgent({ model: callsThenDone('narrow'), tools: [tool] })
    for (const outcome of await Promise.all([agent.run('one'), agent.run('two')])) expectDone(outcome)
    expect(state.most).toBe(2)
  })

  it('is bounded for a tool that is made anew for each step', async () => {
    const { tool, state } = counting('narrow', { concurrency: 2 })
    const agent = createAgent({ model: callsThenDone('narrow'), tools: () => [{ ...tool }] })
    for (const outcome of await Promise.all([agent.run('one'), agent.run('two')])) expectDone(outcome)
    expect(state.most).toBe(2)
  })

  it('is bounded for an agent, over all its tools', async () => {
    const { tool, state } = counting('wide')
    await runCalls([tool], calls('wide'), { toolConcurrency: 3 })
    expect(state.most).toBe(3)
  })

  it('is unbounded otherwise', async () => {
    const { tool, state } = counting('wide')
    await runCalls([tool], calls('wide'))
    expect(state.most).toBe(6)
  })

  it('lets a call that waits for its place be stopped', async () => {
    const gate = deferred<string>()
    let begun = 0
    const tool = defineTool({
      name: 'narrow',
      description: 'd',
      input: numbered,
      concurrency: 1,
      run: () => {
        begun++
        return gate.promise
      },
    })
    const run = createAgent({ model: scriptedModel([{ calls: calls('narrow') }]), tools: [tool] }).stream(
      'go',
    )
    for await (const event of run)
      if (event.type === 'tool.started' && event.place.endsWith('.5')) run.abort()
    expectSendable(expectAborted(await run.outcome))
    expect(begun).toBe(1)
  })

  it.each([0, 1.5, Number.NaN])('must not be %d', (toolConcurrency) => {
    expect(() => createAgent({ model: scriptedModel([]), toolConcurrency })).toThrow(/toolConcurrency/)
  })
})

describe('the tools of an agent', () => {
  const named = (name: string) => defineTool({ name, description: 'd', input: empty, run: () => name })
  const offered = (model: ReturnType<typeof scriptedModel>) =>
    model.requests.map(({ tools }) => tools.map(({ name }) => name))

  it('may come and go; a run keeps those that it started with', async () => {
    const agent = createAgent({
      model: scriptedModel([
        () => {
          agent.tools.add(named('late'))
          agent.tools.remove('early')
          return { calls: [{ name: 'early' }, { name: 'late' }] }
        },
        'one',
        { calls: [{ name: 'late' }] },
        'two',
      ]),
      tools: [named('early')],
    })
    const first = await agent.run('go')
    const contents = first.transcript.filter(({ role }) => role === 'tool').map(({ content }) => content)
    expect(contents).toEqual(['early', expect.stringContaining('Error (unknown_tool)')])
    const second = await agent.run('go')
    expect(second.transcript[2]?.content).toBe('late')
    expect(agent.tools.names).toEqual(['late'])
    expect(agent.tools.remove('nothing')).toBe(false)
    expect(() => agent.tools.add(named('late'))).toThrow(/Two tools are named/)
  })

  it('may be chosen for each step, and the choice is in the journal', async () => {
    const journal = memoryJournal()
    const model = scriptedModel([{ calls: [{ name: 'first' }] }, { calls: [{ name: 'first' }] }, 'done'])
    const tools = ({ step }: { step: number }) => [named(step === 1 ? 'first' : 'second')]
    const agent = createAgent({ model, tools, journal })
    const { transcript } = await agent.run('go', { runId: 'r' })
    expect(offered(model)).toEqual([['first'], ['second'], ['second']])
    expect(transcript[2]?.content).toBe('first')
    expect(transcript[4]?.content).toContain(
      'Error (unknown_tool): There is no tool named "first". Available tools: second.',
    )
    const entries = (await journal.load('r')) ?? []
    expect(JSON.stringify(entries)).toContain('"offered":["second"]')
    expect(() => agent.tools.add(named('x'))).toThrow(/chosen by a function/)
  })

  it('may say when they are offered', async () => {
    const seen: number[] = []
    const picky = {
      ...named('picky'),
      onlyWhen: ({ step, transcript }: { step: number; transcript: readonly unknown[] }) => {
        seen.push(transcript.length)
        return step === 2
      },
    }
    const model = scriptedModel([{ calls: [{ name: 'plain' }] }, { calls: [{ name: 'picky' }] }, 'done'])
    await createAgent({ model, tools: [named('plain'), picky] }).run('go')
    expect(offered(model)).toEqual([['plain'], ['plain', 'picky'], ['plain']])
    expect(seen).toEqual([1, 3, 5])
  })
})

describe('approval', () => {
  const guarded = () => {
    const add = countingAdd()
    return { add, tools: [{ ...add, needsApproval: (args: unknown) => (args as { a: number }).a > 10 }] }
  }
  const big = { name: 'add', arguments: { a: 11, b: 2 }, id: 'big' }
  const small = { name: 'add', arguments: { a: 1, b: 2 }, id: 'small' }

  async function paused(calls: readonly ScriptedCall[] = [big, small], options: object = {}) {
    const journal = memoryJournal()
    const { add, tools } = guarded()
    const agent = createAgent({ model: scriptedModel([{ calls }, 'ok']), tools, journal, ...options })
    const outcome = await agent.run('go', { runId: 'r' })
    if (outcome.status !== 'waiting') throw new Error(outcome.status)
    return { agent, add, outcome, token: outcome.approvals[0]?.token ?? '' }
  }

  it('may change the arguments, and the model is told', async () => {
    const { agent, add } = await paused()
    const decisions = [{ callId: 'big', approved: true, arguments: { a: 5, b: 5 } }]
    const outcome = expectDone(await agent.resume('r', { decisions }))
    expect(add.runs).toContainEqual({ a: 5, b: 5 })
    expect(outcome.transcript[2]?.content).toBe(
      '(A person changed the arguments of this call to {"a":5,"b":5} before it ran.)\n10',
    )
    expectSendable(outcome)
  })

  it('refuses changed arguments that do not fit', async () => {
    const { agent, add } = await paused()
    const decisions = [{ callId: 'big', approved: true, arguments: { a: 'five' } }]
    await expect(agent.resume('r', { decisions })).rejects.toMatchObject({ code: 'invalid_arguments' })
    expect(add.runs).toEqual([])
  })

  it('can be bound to the call that the person was shown', async () => {
    const { agent, token } = await paused()
    const other = await paused([{ ...big, arguments: { a: 12, b: 2 } }])
    expect(other.token).not.toBe(token)
    const wrong = [{ callId: 'big', approved: true, token: other.token }]
    await expect(agent.resume('r', { decisions: wrong })).rejects.toMatchObject({ code: 'approval_mismatch' })
    expectDone(await agent.resume('r', { decisions: [{ callId: 'big', approved: true, token }] }))
  })

  it('binds whatever the order of the arguments', async () => {
    const { token } = await paused([big])
    const reordered = await paused([{ ...big, arguments: '{"b": 2, "a": 11}' }])
    expect(reordered.token).toBe(token)
  })

  it('lets nothing of the reply run before all is decided', async () => {
    expect((await paused()).add.runs).toEqual([])
  })

  it('lets the others run first where the agent says so, once', async () => {
    const { agent, add, outcome } = await paused([big, small], { runApprovedFirst: true })
    expect(add.runs).toEqual([{ a: 1, b: 2 }])
    expect(outcome.approvals.map(({ callId }) => callId)).toEqual(['big'])
    const resumed = expectDone(await agent.resume('r', { decisions: [{ callId: 'big', approved: true }] }))
    expect(add.runs).toEqual([
      { a: 1, b: 2 },
      { a: 11, b: 2 },
    ])
    expect(resumed.transcript.slice(2, 4).map(({ content }) => content)).toEqual(['13', '3'])
  })

  it('waits at once where nothing else is left to run first', async () => {
    expect((await paused([big], { runApprovedFirst: true })).outcome.approvals).toHaveLength(1)
  })

  it('asks once for calls that ask for the same', async () => {
    const { agent, add, outcome } = await paused([big, { ...big, id: 'again' }])
    expect(outcome.approvals.map(({ callId }) => callId)).toEqual(['big'])
    const denied = expectDone(await agent.resume('r', { decisions: [{ callId: 'big', approved: false }] }))
    expect(add.runs).toEqual([])
    expect(denied.transcript.slice(2, 4).map(({ content }) => content)).toEqual([
      expect.stringContaining('Error (denied)'),
      expect.stringContaining('Error (denied)'),
    ])
  })

  it('of one of them, by whichever id, is one of both', async () => {
    const { agent, add } = await paused([big, { ...big, id: 'again' }])
    expectDone(await agent.resume('r', { decisions: [{ callId: 'again', approved: false }] }))
    expect(add.runs).toEqual([])
  })

  it('with changed arguments is told with each of them', async () => {
    const { agent, add } = await paused([big, { ...big, id: 'again' }])
    const decisions = [{ callId: 'big', approved: true, arguments: { a: 5, b: 5 } }]
    const outcome = expectDone(await agent.resume('r', { decisions }))
    expect(add.runs).toEqual([{ a: 5, b: 5 }])
    expect(outcome.transcript.slice(2, 4).map(({ content }) => content)).toEqual([
      expect.stringContaining('A person changed the arguments'),
      expect.stringContaining('A person changed the arguments'),
    ])
  })

  it('given again changes nothing, also where it changed the arguments', async () => {
    const { agent, add, token } = await paused([big, { ...big, arguments: { a: 12, b: 2 }, id: 'other' }])
    const edit = { callId: 'big', approved: true, token, arguments: { a: 5, b: 5 } }
    expect(await agent.resume('r', { decisions: [edit] })).toMatchObject({ status: 'waiting' })
    const decisions = [edit, { callId: 'other', approved: true }]
    expectDone(await agent.resume('r', { decisions }))
    expect(add.runs).toEqual([
      { a: 5, b: 5 },
      { a: 12, b: 2 },
    ])
  })

  it('does not look at changed arguments of a call that is rejected', async () => {
    const { agent } = await paused()
    expectDone(await agent.resume('r', { decisions: [{ callId: 'big', approved: false, arguments: {} }] }))
  })

  it('is heard, and checked, where the process stopped while other calls ran', async () => {
    const whole = memoryJournal()
    const { add, tools } = guarded()
    const options = { tools: tools.map((tool) => ({ ...tool, idempotent: true })), runApprovedFirst: true }
    const script = [{ calls: [big, small] }, 'ok']
    await createAgent({ model: scriptedModel(script), journal: whole, ...options }).run('go', { runId: 'r' })
    const entries = (await whole.load('r')) ?? []
    const stopped = entries.findIndex((entry) => entry.type === 'intent' && entry.place.includes('tool'))
    expect(stopped).toBeGreaterThan(0)
    const journal = await journalOf(entries.slice(0, stopped + 1))
    const agent = createAgent({ model: scriptedModel(['ok']), journal, ...options })
    const decision = { callId: 'big', approved: true }
    const wrong = agent.resume('r', { decisions: [{ ...decision, token: 'wrong' }] })
    await expect(wrong).rejects.toMatchObject({ code: 'approval_mismatch' })
    expectDone(await agent.resume('r', { decisions: [decision] }))
    expect(add.runs).toContainEqual({ a: 11, b: 2 })
  })

  it('is asked for where the tool does not say in time whether it needs one', async () => {
    vi.useFakeTimers()
    try {
      const tool = { ...countingAdd(), needsApproval: () => new Promise<boolean>(() => {}), timeoutMs: 50 }
      const running = createAgent({ model: scriptedModel([{ calls: [big] }]), tools: [tool] }).run('go')
      await vi.advanceTimersByTimeAsync(60)
      expect(await running).toMatchObject({ status: 'waiting', approvals: [{ callId: 'big' }] })
    } finally {
      vi.useRealTimers()
    }
  })
})

it('a schema that never answers holds a call no longer than the tool would', async () => {
  vi.useFakeTimers()
  try {
    const input = z.object({ a: z.number() }).refine(() => new Promise<boolean>(() => {}))
    const tool = defineTool({ name: 'slow', description: 'd', input, timeoutMs: 50, run: () => 'ok' })
    const running = runCalls([tool], [{ name: 'slow', arguments: { a: 1 } }])
    await vi.advanceTimersByTimeAsync(60)
    expect(await running).toEqual([expect.stringContaining('Error (')])
  } finally {
    vi.useRealTimers()
  }
})

it('usage that is none counts as nothing', async () => {
  const tool = defineTool({
    name: 'odd',
    description: 'd',
    input: empty,
    run: (_args, { addUsage }) => {
      addUsage?.({ inputTokens: Number.NaN, outputTokens: -1, cachedTokens: 2, reasoningTokens: 0 })
      addUsage?.(undefined as never)
      return 'ok'
    },
  })
  const model = scriptedModel([{ calls: [{ name: 'odd' }] }, 'ok'])
  const { usage } = expectDone(await createAgent({ model, tools: [tool] }).run('go'))
  expect(usage).toMatchObject({ inputTokens: 2, outputTokens: 2, cachedTokens: 2, reasoningTokens: 0 })
})

it('a promise that is refused where none was asked for does not end the process', async () => {
  const refused: unknown[] = []
  const listener = (reason: unknown): number => refused.push(reason)
  process.on('unhandledRejection', listener)
  try {
    const refuse = (): never => Promise.reject(new Error('refused')) as never
    const { tool } = flaky(1, new Error('once'), { isTransient: refuse })
    const nested = defineTool({
      name: 'nested',
      description: 'd',
      input: empty,
      run: () => ({ later: Promise.reject(new Error('nested')) }),
    })
    const tools = [
      { ...tool, onlyWhen: refuse },
      { ...nested, onlyWhen: refuse },
    ]
    const contents = await runCalls(tools, [{ name: 'flaky' }, { name: 'nested' }], { redact: refuse })
    expect(contents).toEqual([
      expect.stringContaining('once'),
      expect.stringContaining('a promise that was not awaited'),
    ])
    await new Promise(setImmediate)
    expect(refused).toEqual([])
  } finally {
    process.off('unhandledRejection', listener)
  }
})

describe('secrets', () => {
  const secret = defineTool({
    name: 'secret',
    description: 'd',
    input: empty,
    run: () => 'password: hunter2',
  })
  const script = () => scriptedModel([{ calls: [{ name: 'secret' }] }, 'ok'])

  it('are taken out before a watcher sees them, and stay in the run', async () => {
    const redact = (event: AgentEvent): AgentEvent =>
      JSON.parse(JSON.stringify(event).replaceAll('hunter2', '…')) as AgentEvent
    const seen: string[] = []
    const agent = createAgent({ model: script(), tools: [secret], redact })
    const outcome = await agent.run('go', { onEvent: (event) => seen.push(JSON.stringify(event)) })
    expect(seen.join()).not.toContain('hunter2')
    expect(seen.join()).toContain('password: …')
    expect(outcome.transcript[2]?.content).toBe('password: hunter2')
  })

  it('are not shown where nothing is given back', async () => {
    const seen: AgentEvent[] = []
    const redact = (event: AgentEvent): AgentEvent | undefined =>
      event.type.startsWith('tool.') ? undefined : event
    const agent = createAgent({ model: script(), tools: [secret], redact })
    expectDone(await agent.run('go', { onEvent: (event) => seen.push(event) }))
    expect(seen.filter(({ type }) => type.startsWith('tool.'))).toEqual([])
    expect(seen).not.toEqual([])
  })

  it('are not shown where taking them out fails', async () => {
    const redact = (): AgentEvent => {
      throw new Error('broken')
    }
    const seen: AgentEvent[] = []
    const agent = createAgent({ model: script(), tools: [secret], redact })
    expectDone(await agent.run('go', { onEvent: (event) => seen.push(event) }))
    expect(seen).toEqual([])
  })
})

it('tokens that a tool spends count as the run’s own, once, also on resume', async () => {
  const spending = defineTool({
    name: 'spend',
    description: 'd',
    input: empty,
    run: (_args, { addUsage }) => {
      addUsage?.({ inputTokens: 100, outputTokens: 10, cachedTokens: 0, reasoningTokens: 0 })
      return 'ok'
    },
  })
  const journal = memoryJournal()
  const usage = { inputTokens: 1, outputTokens: 1 }
  const model = scriptedModel([
    { calls: [{ name: 'spend' }], usage },
    { text: 'done', usage },
  ])
  const agent = createAgent({ model, tools: [spending], journal })
  const outcome = await agent.run('go', { runId: 'r' })
  expect(outcome.usage).toMatchObject({ inputTokens: 102, outputTokens: 12 })
  expect((await agent.resume('r')).usage).toEqual(outcome.usage)
})
