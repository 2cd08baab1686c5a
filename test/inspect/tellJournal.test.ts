import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type AgentEvent,
  type AgentOptions,
  createAgent,
  type JournalEntry,
  type Memory,
  ModelError,
  memoryJournal,
} from '../../src/index.ts'
import { requestsOf, requestsOfModel } from '../../src/inspect/requests.ts'
import { spentIn } from '../../src/inspect/spentIn.ts'
import { tellJournal } from '../../src/inspect/tellJournal.ts'
import { outputFormat } from '../../src/outputFormat.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { countingAdd, deferred, returning, throwing } from '../support/tools.ts'

type Options = Omit<AgentOptions<unknown>, 'model'>

/** What journals do not keep: pieces of text, what tools report meanwhile. */
const notKept = new Set(['model.delta', 'model.reset', 'tool.progress', 'tool.retried'])

/** An event without what a journal cannot tell exactly. */
function comparable(event: AgentEvent): readonly unknown[] {
  if (notKept.has(event.type)) return []
  return [
    JSON.parse(
      JSON.stringify(event, (key, value) =>
        ['at', 'durationMs', 'delayMs'].includes(key) ? undefined : value,
      ),
    ),
  ]
}

/** The events that a journal tells of. */
function told(entries: readonly JournalEntry[], options: AgentOptions<unknown>): readonly AgentEvent[] {
  const agent = createAgent(options)
  return [
    ...tellJournal(entries, {
      runId: 'r',
      machine: agent.machine,
      requestOf: requestsOf(options),
      read: options.output && outputFormat(options.output).read,
    }),
  ].map(({ event }) => event())
}

/** A run that goes on until it has ended, whoever has to decide; its events, and its journal. */
async function recorded(steps: readonly ScriptedStep[], options: Options, approve = true) {
  const journal = memoryJournal()
  const events: AgentEvent[] = []
  const agent = createAgent({ ...options, model: scriptedModel(steps), journal })
  agent.watch((event) => events.push(event))
  let outcome = await agent.run('go', { runId: 'r' })
  while (outcome.status === 'waiting') {
    const decisions = outcome.approvals.map(({ callId }) => ({ callId, approved: approve }))
    outcome = await agent.resume('r', { decisions })
  }
  return { events, entries: (await journal.load('r')) ?? [], outcome }
}

async function expectSameStory(steps: readonly ScriptedStep[], options: Options = {}, approve = true) {
  const { events, entries, outcome } = await recorded(steps, options, approve)
  const fromJournal = told(entries, { ...options, model: scriptedModel([]) })
  expect(fromJournal.flatMap(comparable)).toEqual(events.flatMap(comparable))
  return { events, fromJournal, entries, outcome }
}

const call = (name: string, args: unknown, id?: string) => ({
  name,
  arguments: args,
  ...(id === undefined ? {} : { id }),
})

/** Shows the last messages only, and makes room whenever there are many. */
const forgetful: Memory = {
  view: (transcript, state) => {
    const from = typeof state === 'number' ? state : 0
    return [transcript[0] as (typeof transcript)[number], ...transcript.slice(Math.max(1, from))]
  },
  needsCompaction: (transcript, state) => transcript.length - (typeof state === 'number' ? state : 0) > 5,
  compact: async (transcript) => {
    const start = transcript.findLastIndex(({ role }) => role === 'assistant')
    const spent = { inputTokens: 3, outputTokens: 2, cachedTokens: 0, reasoningTokens: 0 }
    return { state: start, spent: [{ model: 'small', usage: spent }] }
  },
}

const busy = new ModelError('overloaded', 'busy', { retryable: true, retryAfterMs: 0 })
const tooLong = new ModelError('context_too_long', 'too long', { retryable: false })
const broken = new ModelError('bad_request', 'no', { retryable: false })

const scriptedStep: fc.Arbitrary<ScriptedStep> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(
        fc.constantFrom(
          call('add', { a: 1, b: 2 }),
          call('add', { a: 2, b: 2 }),
          call('add', '{"a": 1'),
          call('fail', {}),
          call('nobody', { x: 1 }),
          call('ask', { x: 1 }),
        ),
        { minLength: 1, maxLength: 3 },
      )
      .map((calls) => ({ calls })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<ScriptedStep>(
      'An answer.',
      { text: '' },
      { text: 'cut', finish: 'length' },
      { calls: [call('add', { a: 1, b: 2 })], finish: 'length' },
      { text: 'I will call it.', finish: 'tool_calls' },
      { text: 'no', finish: 'content_filter' },
      busy,
      tooLong,
      broken,
    ),
  },
)

const limits = fc.record(
  {
    steps: fc.integer({ min: 1, max: 5 }),
    tokens: fc.integer({ min: 200, max: 2000 }),
    toolCalls: fc.integer({ min: 1, max: 6 }),
    malformed: fc.integer({ min: 1, max: 3 }),
    repeats: fc.integer({ min: 2, max: 3 }),
  },
  { requiredKeys: [] },
)

const tools = [
  countingAdd(),
  throwing(new Error('no')),
  { ...returning(Promise.resolve('yes'), 'ask'), needsApproval: true },
]

describe('a run that is told from its journal', () => {
  it('has the events that it had while it was under way, but for times and pieces of text', async () => {
    let events = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(scriptedStep, { minLength: 1, maxLength: 6 }),
        limits,
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        async (steps, ofRun, remembers, runApprovedFirst, approve) => {
          const options: Options = {
            tools,
            limits: ofRun,
            runApprovedFirst,
            prices: { scripted: { input: 1, output: 2 } },
            ...(remembers ? { memory: forgetful } : {}),
          }
          const story = await expectSameStory([...steps, 'Done.', 'Closing.'], options, approve)
          events += story.events.length
          const { usage, cost } = spentIn(story.entries)
          const { byModel: _byModel, ...spent } = story.outcome.usage
          expect(usage).toEqual(spent)
          expect(cost).toBeCloseTo(story.outcome.cost ?? 0, 12)
        },
      ),
      { numRuns: 150 },
    )
    expect(events).toBeGreaterThan(1500)
  })

  it('has the output that the agent makes of the answer', async () => {
    const output = z.object({ day: z.string().transform((text) => `on ${text}`) })
    const { fromJournal } = await expectSameStory(['{"day": "Monday"}'], { output })
    expect(fromJournal.at(-1)).toMatchObject({
      type: 'run.finished',
      outcome: { output: { day: 'on Monday' } },
    })
  })

  it('tells what was sent, with the memory, the tools and the instructions of the agent', async () => {
    const { fromJournal } = await expectSameStory([{ calls: [call('add', { a: 1, b: 2 })] }, 'Done.'], {
      tools,
      instructions: 'Be brief.',
    })
    const requests = fromJournal.flatMap((event) => (event.type === 'model.requested' ? [event.request] : []))
    expect(requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
      ['system', 'user'],
      ['system', 'user', 'assistant', 'tool'],
    ])
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['add', 'fail', 'ask'])
  })

  it('tells no request where the memory had none', async () => {
    const view = (): never => {
      throw new Error('forgot everything')
    }
    const { events, fromJournal } = await expectSameStory(['never asked'], { memory: { view } })
    expect(events.map(({ type }) => type)).toContain('model.failed')
    expect(fromJournal.map(({ type }) => type)).not.toContain('model.requested')
  })

  it('can be told without its agent, with what any memory shows', async () => {
    const { entries, events } = await recorded([{ calls: [call('add', { a: 1, b: 2 })] }, 'Done.'], { tools })
    const fromJournal = [...tellJournal(entries, { runId: 'r', requestOf: requestsOfModel('scripted') })].map(
      ({ event }) => event(),
    )
    expect(fromJournal.map(({ type }) => type)).toEqual(
      events.flatMap(({ type }) => (notKept.has(type) ? [] : [type])),
    )
    const [request] = fromJournal.flatMap((event) =>
      event.type === 'model.requested' ? [event.request] : [],
    )
    expect(request?.messages).toEqual([{ role: 'user', content: 'go' }])
  })

  it('names the entry that brought each event about', async () => {
    const { entries } = await recorded([{ calls: [call('add', { a: 1, b: 2 })] }, 'Done.'], { tools })
    const told = [...tellJournal(entries, { runId: 'r', requestOf: requestsOfModel('scripted') })]
    const positions = told.map(({ position }) => position)
    expect(positions).toEqual([...positions].sort((a, b) => a - b))
    const started = told.find(({ event }) => event().type === 'tool.started')
    expect(entries[started?.position ?? -1]).toMatchObject({ type: 'intent' })
  })

  it('tells a cancelled run, with the call that was given up', async () => {
    const journal = memoryJournal()
    const events: AgentEvent[] = []
    const agent = createAgent({
      model: scriptedModel([{ calls: [call('slow', {}, 'c')] }]),
      journal,
      tools: [returning(new Promise(() => {}), 'slow')],
    })
    const begun = deferred<void>()
    agent.watch((event) => {
      events.push(event)
      if (event.type === 'tool.started') begun.resolve()
    })
    const run = agent.run('go', { runId: 'r' })
    await begun.promise
    agent.activeRuns()[0]?.abort('enough')
    await run
    const entries = (await journal.load('r')) ?? []
    const fromJournal = told(entries, agent.options)
    expect(fromJournal.flatMap(comparable)).toEqual(events.flatMap(comparable))
    expect(fromJournal.filter(({ type }) => type === 'tool.finished')).toMatchObject([{ error: 'cancelled' }])
  })

  it('tells the call in doubt that a crash left, and what became of it', async () => {
    const journal = memoryJournal()
    const dead = createAgent({
      model: scriptedModel([{ calls: [call('slow', {}, 'c')] }]),
      journal,
      tools: [returning(new Promise(() => {}), 'slow')],
    })
    const events: AgentEvent[] = []
    const begun = deferred<void>()
    dead.watch((event) => {
      events.push(event)
      if (event.type === 'tool.started') begun.resolve()
    })
    void dead.run('go', { runId: 'r' })
    await begun.promise
    // As another process would see it: a copy of what had been recorded when the process died.
    const copy = memoryJournal()
    await copy.append('r', (await journal.load('r')) ?? [], 0)
    const agent = createAgent({
      model: scriptedModel(['Done.']),
      journal: copy,
      tools: [returning(Promise.resolve('ok'), 'slow')],
    })
    agent.watch((event) => events.push(event))
    const waiting = await agent.resume('r', { inDoubt: 'ask' })
    expect(waiting).toMatchObject({ status: 'waiting', approvals: [{ callId: 'c', inDoubt: true }] })
    await agent.resume('r')
    const fromJournal = told((await copy.load('r')) ?? [], agent.options)
    expect(fromJournal.flatMap(comparable)).toEqual(events.flatMap(comparable))
    expect(fromJournal.filter(({ type }) => type === 'tool.finished')).toMatchObject([{ error: 'in_doubt' }])
  })

  it('shows what is under way where the journal ends before the run did', async () => {
    const journal = memoryJournal()
    const begun = deferred<void>()
    const agent = createAgent({ model: scriptedModel([HANG]), journal })
    void agent.run('go', { runId: 'r', onEvent: ({ type }) => type === 'model.requested' && begun.resolve() })
    await begun.promise
    const fromJournal = told((await journal.load('r')) ?? [], agent.options)
    expect(fromJournal.map(({ type }) => type)).toEqual([
      'run.started',
      'messages.appended',
      'limits.updated',
      'model.started',
      'model.requested',
    ])
  })

  it('tells what comes before an entry that cannot be understood', async () => {
    const { entries } = await recorded(['Done.'], {})
    const event = { type: 'settled', place: 'tool.9.0', output: { content: 'x' } } as const
    const odd: JournalEntry[] = [entries[0] as JournalEntry, { type: 'event', at: 1, event }]
    const seen: string[] = []
    const telling = tellJournal(odd, { runId: 'r', requestOf: requestsOfModel('scripted') })
    expect(() => {
      for (const { event: make } of telling) seen.push(make().type)
    }).toThrow(expect.objectContaining({ code: 'journal_mismatch' }))
    expect(seen).toContain('run.started')
  })

  it('is told up to an entry as the whole of it tells that part', async () => {
    const { entries } = await recorded([{ calls: [call('ask', {}, 'c')] }, 'Done.'], { tools })
    const whole = [...tellJournal(entries, { runId: 'r', requestOf: requestsOfModel('scripted') })]
    for (let upTo = 1; upTo <= entries.length; upTo++) {
      const part = [...tellJournal(entries, { runId: 'r', requestOf: requestsOfModel('scripted'), upTo })]
      const types = (events: typeof part) => events.map(({ event }) => event().type)
      const same = whole.filter(({ position }) => position < upTo)
      expect(types(part).slice(0, same.length)).toEqual(types(same))
    }
  })
})
