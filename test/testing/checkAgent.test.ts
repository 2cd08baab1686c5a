import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import {
  type AgentOptions,
  createAgent,
  defineTool,
  type Limits,
  type Memory,
  type Message,
  memoryJournal,
  summary,
  turns,
} from '../../src/index.ts'
import { CheckFailure, type CheckOptions, checkAgent, scriptedModel } from '../../src/testing/index.ts'
import { rejectionOf } from '../support/outcome.ts'
import { countingAdd, throwing } from '../support/tools.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ to: z.email(), amount: z.number().positive() }),
  needsApproval: ({ amount }) => amount < 100,
  run: () => 'paid',
})
const poll = defineTool({
  name: 'poll',
  description: 'Looks.',
  input: z.object({}),
  idempotent: true,
  sequential: true,
  timeoutMs: 5000,
  run: () => 'nothing',
})

function agentWith(options: Partial<AgentOptions> = {}) {
  return createAgent({ model: scriptedModel([]), tools: [countingAdd()], ...options })
}

async function failureOf(memory: Memory, options?: CheckOptions): Promise<CheckFailure> {
  // What a request breaks is also told as a warning of the process, which is of no interest here.
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const thrown = await rejectionOf(checkAgent(agentWith({ memory }), options))
  if (!(thrown instanceof CheckFailure)) throw thrown
  return thrown
}

describe('checkAgent', () => {
  const history: Message[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'hello' },
    { role: 'assistant', content: 'Hello!' },
    { role: 'user', content: 'and now?' },
  ]
  const compacting: Memory = {
    view: (transcript) => transcript,
    needsCompaction: (transcript) => transcript.length > 3,
    compact: async () => ({ state: { compacted: true } }),
  }

  it.each<[string, AgentOptions['tools'], Partial<AgentOptions>, CheckOptions]>([
    ['no tools', [], {}, {}],
    [
      'instructions and a memory of one turn',
      [countingAdd()],
      { instructions: 'Be brief.', memory: turns(1) },
      {},
    ],
    ['a history', [countingAdd()], {}, { input: history }],
    ['approvals', [countingAdd(), pay], {}, {}],
    ['approvals beside calls that run', [countingAdd(), pay], { runApprovedFirst: true }, {}],
    ['sequential and idempotent tools', [poll, countingAdd()], {}, {}],
    ['one place for all calls', [countingAdd(), poll], { toolConcurrency: 1 }, {}],
    ['tools that are chosen for each step', ({ step }) => (step === 1 ? [countingAdd()] : []), {}, {}],
    ['a memory that compacts', [countingAdd()], { memory: compacting }, {}],
    ['a running summary', [countingAdd()], { memory: summary({ at: 120, keep: 60 }) }, {}],
    ['one step, no retries', [countingAdd()], { limits: { steps: 1, malformed: 1 }, modelRetries: 0 }, {}],
    ['no limits', [countingAdd()], { limits: { steps: Infinity } }, { depth: 1 }],
  ])('finds nothing wrong with an agent that has %s', async (_name, tools, options, check) => {
    const report = await checkAgent(agentWith({ tools: tools ?? [], ...options }), { maxPaths: 40, ...check })
    expect(report.paths).toBeGreaterThan(10)
    expect(report.resumptions).toBeGreaterThan(report.paths)
    expect(report.endings.done).toBeGreaterThan(0)
  })

  it('works with an answer of a form', async () => {
    const output = z.object({ city: z.string().min(3), people: z.int().min(10) })
    const agent = createAgent({ model: scriptedModel([]), output })
    const report = await checkAgent(agent, { depth: 2 })
    expect(report.complete).toBe(true)
    expect(report.endings['aborted (malformed_response)']).toBeGreaterThan(0)
  })

  it('plays the model and the tools, and leaves the journal alone', async () => {
    const model = scriptedModel([])
    const add = countingAdd()
    const journal = memoryJournal()
    const append = vi.spyOn(journal, 'append')
    await checkAgent(agentWith({ model, tools: [add], journal }), { depth: 1 })
    expect(model.requests).toEqual([])
    expect(add.runs).toEqual([])
    expect(append).not.toHaveBeenCalled()
  })

  it('lets no real time pass', async () => {
    // Nobody advances these timers: whatever waited for one would wait for ever.
    vi.useFakeTimers()
    const waiting = await checkAgent(agentWith({ tools: [poll] }), {
      path: 'busy, wait, call poll, hang, hang, wait',
    })
    expect(waiting.endings).toEqual({ done: 1 })
  })

  it.each<[string, Partial<Limits>]>([
    ['warns', { time: { warn: 3 } }],
    ['concludes before a hanging call is given up', { time: 10_000 }],
    ['aborts while a tool or a back-off takes its time', { time: { abort: 450 } }],
  ])('keeps its promises where the limit of time %s', async (_what, limits) => {
    const tools = [countingAdd({ idempotent: true }), throwing(new Error('no'))]
    const agent = createAgent({ model: scriptedModel([]), tools, limits: { steps: 3, ...limits } })
    const report = await checkAgent(agent, { depth: 2, maxPaths: 250 })
    expect(report.paths).toBeGreaterThan(100)
  })

  it('lets the limit of time conclude, at the same moment in each check', async () => {
    const agent = createAgent({ model: scriptedModel([]), limits: { time: 10_000 } })
    expect((await checkAgent(agent, { path: 'hang' })).endings).toEqual({ 'done (time)': 1 })
    expect((await checkAgent(agent, { path: 'hang, hang' })).endings).toEqual({ 'aborted (timeout)': 1 })
  })

  it('tells what it has seen', async () => {
    const report = await checkAgent(agentWith({ tools: [pay] }), { depth: 2 })
    expect(report.states.covered).toEqual(
      expect.arrayContaining(['observing.recording', 'thinking.backingOff']),
    )
    expect(report.transitions.covered).toContain('parsing → awaitingApproval: always [needsApproval]')
    expect(report.transitions.uncovered).toContain('executingTools → executingTools: tool failed')
    const endings = Object.values(report.endings).reduce((sum, count) => sum + count, 0)
    expect(endings).toBe(report.paths)
    expect(String(report)).toContain(`${report.paths} paths (every path of up to 2 choices`)
    expect(String(report)).toMatch(/^ +\d+ {2}done$/m)
  })

  it('ends after as many paths as it is told, and says so', async () => {
    const report = await checkAgent(agentWith(), { maxPaths: 7 })
    expect(report).toMatchObject({ paths: 7, complete: false })
    expect(String(report)).toContain('the shortest paths of up to 3 choices')
  })

  it('takes a conversation that is too long in the end for what it is', async () => {
    const agent = agentWith({ tools: [countingAdd(), pay], memory: turns(4) })
    await checkAgent(agent, { path: 'call unknown, too long, call add + pay, approve, ok, ok' })
  })

  it('reaches every edge of the chart that a run can take', async () => {
    const options = { tools: [countingAdd(), pay], memory: compacting }
    const failing = { ...compacting, compact: () => Promise.reject(new Error('no')) }
    const reports = [
      await checkAgent(agentWith({ ...options, limits: { steps: 2 } }), { maxPaths: 300 }),
      await checkAgent(agentWith({ ...options, limits: { steps: 1 } }), { maxPaths: 120 }),
      await checkAgent(agentWith({ ...options, memory: failing, limits: { steps: 2 } }), { maxPaths: 150 }),
      await checkAgent(agentWith({ ...options, runApprovedFirst: true }), { maxPaths: 50 }),
    ]
    const taken = new Set(reports.flatMap(({ transitions }) => transitions.covered))
    expect(reports[0]?.transitions.uncovered.filter((edge) => !taken.has(edge))).toEqual([
      // For messages and deadlines, which a check does not play.
      'agent → agent: SEND',
      'agent → concluding: deadline.conclude done [isAtWork]',
      'agent → aborted: deadline.abort done',
      'agent → agent: deadline failed',
      // For a live machine, and for a run that is resumed with decisions while calls are under way.
      'executingTools → executingTools: DECIDE',
      // For actors that reject, which users may provide themselves.
      'executingTools → executingTools: tool failed',
      'observing.compacting → observing.judging: compact failed',
      // For compactions that cost more than is left.
      'observing.judging → aborted: always [limitAborts]',
    ])
  })
})

describe('checkAgent tells the shortest path on which', () => {
  it('a memory parts a call from its result', async () => {
    const parting: Memory = {
      view: (transcript) =>
        transcript.length > 2 ? [...transcript.slice(0, 1), ...transcript.slice(2)] : transcript,
    }
    const failure = await failureOf(parting)
    expect(failure).toMatchObject({ code: 'check_failed', promise: 'always sendable', path: 'call add, ok' })
    expect(failure.message).toBe(`The promise "always sendable" does not hold on this path:

  1. The run begins.
  2. The model calls add({"a":0,"b":0}).
     thinking.calling → parsing → executingTools [hasCalls]
  3. add returns "add gives the result tool.1.0."
     executingTools → observing [everyCallSettled] → thinking [else]

Expected: every request keeps the rules of providers
Got:      request 2 breaks "result_without_call" at message 1: tool message for call_0_0 answers no open call

This path alone: checkAgent(agent, { path: 'call add, ok' }), with the other options as they are.`)
  })

  it('a memory drops the last user message', async () => {
    const summary: Message = { role: 'user', content: 'They want something.' }
    const dropping: Memory = {
      view: (transcript) => (transcript.length > 1 ? [summary, ...transcript.slice(1)] : transcript),
    }
    const failure = await failureOf(dropping, { input: 'Pay Ann' })
    expect(failure).toMatchObject({ promise: 'always sendable', path: 'call add, ok' })
    expect(failure.message).toContain('the last user message is in every request, word for word: "Pay Ann"')
  })

  it('a memory adds a system message of its own', async () => {
    const adding: Memory = { view: (transcript) => [...transcript, { role: 'system', content: 'Hurry.' }] }
    expect(await failureOf(adding)).toMatchObject({ promise: 'always sendable', path: '' })
  })

  it('a memory throws', async () => {
    const throwing: Memory = {
      view: (transcript) => {
        if (transcript.length > 3) throw new Error('too much for me')
        return transcript
      },
    }
    const failure = await failureOf(throwing)
    expect(failure).toMatchObject({ promise: 'explained' })
    expect(failure.message).toContain(
      '"model_error": The model call failed: The memory threw: too much for me',
    )
  })

  it('a memory shows something else after a crash', async () => {
    let views = 0
    const counting: Memory = {
      view: (transcript) => [...transcript, { role: 'user', content: `This is view ${++views}.` }],
    }
    const failure = await failureOf(counting)
    expect(failure).toMatchObject({ promise: 'once', path: 'answer' })
    expect(failure.message).toContain(
      'The process dies with 1 of 3 journal entries written; the run is resumed.',
    )
    expect(failure.message).toMatch(/another: .*view 2\..*\n.*where it was: .*view 1\./)
  })

  it('runs that go on at the same time disturb each other', async () => {
    let shown = 0
    const memory: Memory = {
      view: (transcript) => {
        shown = transcript.length
        return transcript
      },
    }
    // Alone, each run reads what it has just written.
    const tool = defineTool({
      ...countingAdd(),
      input: z.object({}),
      needsApproval: () => shown > 1,
      run: () => 1,
    })
    const thrown = await rejectionOf(checkAgent(agentWith({ memory, tools: [tool] }), { maxPaths: 40 }))
    expect(thrown).toMatchObject({ code: 'check_failed', promise: 'isolated' })
  })

  it('can be walked again alone, also where other paths break the promise sooner', async () => {
    const parting: Memory = { view: (transcript) => [...transcript.slice(0, 1), ...transcript.slice(2)] }
    const failure = await failureOf(parting, { path: 'busy, wait, empty, call add, throws, answer' })
    expect(failure.path).toBe('busy, wait, empty, call add, throws')
  })
})

describe('checkAgent refuses', () => {
  const unguessable = defineTool({
    name: 'find',
    description: 'Finds.',
    input: z.object({ code: z.string().regex(/^[A-Z]{3}-\d+$/) }),
    run: () => 'found',
  })

  it.each<[string, Partial<AgentOptions>, CheckOptions, string, RegExp]>([
    [
      'a tool for which no arguments can be made',
      { tools: [unguessable] },
      {},
      'no_sample',
      /samples: \{ find: \[/,
    ],
    ['samples that do not fit', {}, { samples: { add: [{ a: 'x' }] } }, 'invalid_sample', /samples\.add/],
    ['samples of an unknown tool', {}, { samples: { sub: [] } }, 'unknown_tool', /no tool "sub", only add/],
    ['results of an unknown tool', { tools: [] }, { results: { sub: [] } }, 'unknown_tool', /and no other/],
    ['an unknown tool to call', {}, { tools: ['sub'] }, 'unknown_tool', /only add/],
    ['a depth that is none', {}, { depth: 0 }, 'invalid_option', /depth must be a whole number/],
    ['maxPaths that are none', {}, { maxPaths: 1.5 }, 'invalid_option', /maxPaths must be/],
    ['an input without a question', {}, { input: '' }, 'empty_input', /needs a question/],
    [
      'a path that cannot be',
      {},
      { path: 'call add, fine' },
      'invalid_path',
      /"fine" as choice 2.*only: ok, same/,
    ],
    ['a path that goes on after the end', {}, { path: 'answer, ok' }, 'invalid_path', /"ok" is left/],
  ])('%s', async (_name, options, check, code, message) => {
    const thrown = await rejectionOf(checkAgent(agentWith(options), check))
    expect(thrown).toMatchObject({ name: 'MisuseError', code, message: expect.stringMatching(message) })
  })

  it('an answer that is not of the form, given or made', async () => {
    const output = z.object({ code: z.string().regex(/^[A-Z]+$/) })
    const agent = createAgent({ model: scriptedModel([]), output })
    expect(await rejectionOf(checkAgent(agent))).toMatchObject({ code: 'no_sample' })
    expect(await rejectionOf(checkAgent(agent, { answer: '{}' }))).toMatchObject({ code: 'invalid_sample' })
    const { endings } = await checkAgent(agent, { answer: '{"code":"ABC"}', depth: 1 })
    expect(endings.done).toBeGreaterThan(0)
  })

  it('what is no agent', async () => {
    const thrown = await rejectionOf(checkAgent({} as Parameters<typeof checkAgent>[0]))
    expect(thrown).toMatchObject({ code: 'invalid_agent' })
  })

  it('nothing where samples are given', async () => {
    const samples = { find: [{ code: 'ABC-1' }, { code: 'ABC-2' }] }
    const report = await checkAgent(agentWith({ tools: [unguessable] }), {
      samples,
      path: 'call find + find, ok, ok',
    })
    expect(report.paths).toBe(1)
  })
})

describe('the samples of a tool', () => {
  it('are called one by one, so that an approval may depend on them', async () => {
    const samples = {
      pay: [
        { to: 'a@b.cd', amount: 500 },
        { to: 'a@b.cd', amount: 5 },
      ],
    }
    const agent = agentWith({ tools: [pay] })
    const large = await checkAgent(agent, { samples, path: 'call pay, ok' })
    expect(large.states.uncovered).toContain('awaitingApproval')
    const small = await checkAgent(agent, { samples, path: 'call pay 2, reject' })
    expect(small.states.covered).toContain('awaitingApproval')
  })
})

describe('the results of tools', () => {
  it('are shown by the render of the tool where they are the user’s own', async () => {
    const shown: unknown[] = []
    const tool = defineTool({
      name: 'weather',
      description: 'Tells the weather.',
      input: z.object({}),
      render: (value) => {
        shown.push(value)
        return 'sunny'
      },
      run: () => 'real',
    })
    const agent = agentWith({ tools: [tool] })
    await checkAgent(agent, { path: 'call weather, ok' })
    expect(shown).toEqual([])
    await checkAgent(agent, { path: 'call weather, ok', results: { weather: [{ sky: 'clear' }] } })
    expect(shown).toContainEqual({ sky: 'clear' })
  })
})
