import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { type AgentEvent, createAgent, ModelError, memoryJournal } from '../../src/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { expectAborted, expectDone, rejectionOf } from '../support/outcome.ts'
import { countingAdd, deferred, returning } from '../support/tools.ts'

const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 }, id: 'c' }] }
const script = () => scriptedModel([adding, 'The sum is 3.'])

type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { type: Type }>

function only<Type extends AgentEvent['type']>(events: readonly AgentEvent[], type: Type) {
  return events.filter((event): event is EventOf<Type> => event.type === type)
}

async function eventsOf(run: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of run) events.push(event)
  return events
}

describe('messages.appended', () => {
  it('tells the transcript, message by message as they stand there', async () => {
    const run = createAgent({ model: script(), tools: [countingAdd()] }).stream('1+2?')
    const events = await eventsOf(run)
    const appended = only(events, 'messages.appended')
    expect(appended.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
      ['user'],
      ['assistant'],
      ['tool'],
      ['assistant'],
    ])
    expect(appended.flatMap(({ messages }) => messages)).toEqual((await run.outcome).transcript)
  })

  it('tells the whole transcript where a run goes on', async () => {
    const journal = memoryJournal()
    const tools = [{ ...countingAdd(), needsApproval: true }]
    const agent = createAgent({ model: script(), tools, journal })
    await agent.run('1+2?', { runId: 'r' })
    const events: AgentEvent[] = []
    const outcome = await agent.resume('r', {
      decisions: [{ callId: 'c', approved: true }],
      onEvent: (event) => events.push(event),
    })
    const [first, ...more] = only(events, 'messages.appended')
    expect(first?.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect([...(first?.messages ?? []), ...more.flatMap(({ messages }) => messages)]).toEqual(
      outcome.transcript,
    )
    expect(only(events, 'run.started')).toMatchObject([{ resumed: true, recorded: 3 }])
  })

  it('tells a message that was sent when it enters the transcript', async () => {
    const gate = deferred<string>()
    const model = scriptedModel([{ calls: [{ name: 'slow', id: 'c' }] }, 'ok'])
    const run = createAgent({ model, tools: [returning(gate.promise, 'slow')] }).stream('go')
    const events: AgentEvent[] = []
    for await (const event of run) {
      events.push(event)
      if (event.type === 'tool.started') void run.send('hurry').then(() => gate.resolve('done'))
    }
    expect(only(events, 'messages.appended').map(({ messages }) => messages.map(({ role }) => role))).toEqual(
      [['user'], ['assistant'], ['tool', 'user'], ['assistant']],
    )
  })
})

describe('model.requested', () => {
  it('tells what each model call sends', async () => {
    const model = script()
    const agent = createAgent({ model, tools: [countingAdd()], instructions: 'Be brief.' })
    const events = await eventsOf(agent.stream('1+2?'))
    expect(only(events, 'model.requested').map(({ request }) => request)).toEqual(model.requests)
    expect(only(events, 'model.requested')).toMatchObject([
      { place: 'model.1.1', closing: false },
      { place: 'model.2.1', closing: false },
    ])
  })

  it('cannot be used to change what is sent', async () => {
    const model = scriptedModel(['hi'])
    await createAgent({ model }).run('go', {
      onEvent: (event) => {
        if (event.type === 'model.requested') (event.request.messages as unknown[]).length = 0
      },
    })
    expect(model.requests[0]?.messages).toHaveLength(1)
  })

  it('tells its tokens where the memory counts them', async () => {
    const model = { ...scriptedModel(['hi']), contextWindow: 1000 }
    const long = 'many words '.repeat(60)
    const [counted] = only(await eventsOf(createAgent({ model }).stream(long)), 'model.requested')
    expect(counted?.tokens).toBeUndefined()
    const model2 = { ...scriptedModel(['hi']), contextWindow: 100 }
    const longer = [
      { role: 'user', content: 'many words '.repeat(60) },
      { role: 'assistant', content: 'ok' },
      { role: 'user', content: 'go' },
    ] as const
    const [trimmed] = only(await eventsOf(createAgent({ model: model2 }).stream(longer)), 'model.requested')
    expect(trimmed?.tokens).toBeGreaterThan(1)
  })

  it('is told for each attempt and for the closing call', async () => {
    const busy = new ModelError('overloaded', 'busy', { retryable: true, retryAfterMs: 0 })
    const model = scriptedModel([busy, adding, 'closing'])
    const agent = createAgent({ model, tools: [countingAdd()], limits: { steps: 1 } })
    const requested = only(await eventsOf(agent.stream('go')), 'model.requested')
    expect(requested.map(({ place, closing }) => [place, closing])).toEqual([
      ['model.1.1', false],
      ['model.1.2', false],
      ['closing.1', true],
    ])
  })
})

describe('limits.updated', () => {
  it('tells with each step how far the limits have counted', async () => {
    const limits = { steps: 4, tokens: 1_000_000, stagnation: Infinity, malformed: Infinity }
    const agent = createAgent({ model: script(), tools: [countingAdd()], limits })
    const updates = only(await eventsOf(agent.stream('1+2?')), 'limits.updated')
    const used = updates.map(({ limits: gauges }) =>
      Object.fromEntries(gauges.map((gauge) => [gauge.limit, gauge.used])),
    )
    expect(used).toEqual([
      { steps: 1, repeats: 0, errorStreak: 0, tokens: 0 },
      { steps: 2, repeats: 0, errorStreak: 0, tokens: 2 },
      { steps: 2, repeats: 0, errorStreak: 0, tokens: 4 },
    ])
    expect(updates[0]?.limits).toContainEqual({ limit: 'repeats', used: 0, max: 3, warn: 2, conclude: 3 })
  })

  it('tells nothing where every limit is off', async () => {
    const off = Object.fromEntries(
      ['steps', 'repeats', 'errorStreak', 'stagnation', 'malformed'].map((name) => [name, Infinity]),
    )
    const events = await eventsOf(createAgent({ model: scriptedModel(['hi']), limits: off }).stream('go'))
    expect(only(events, 'limits.updated')).toEqual([])
  })

  it('counts repetitions, failures in a row and stagnant steps', async () => {
    const model = scriptedModel([adding, { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, 'ok'])
    const events = await eventsOf(createAgent({ model, tools: [countingAdd()] }).stream('go'))
    const gauges = only(events, 'limits.updated').at(-1)?.limits
    expect(gauges).toContainEqual(expect.objectContaining({ limit: 'repeats', used: 2 }))
    expect(gauges).toContainEqual(expect.objectContaining({ limit: 'stagnation', used: 1 }))
    const failing = scriptedModel([{ calls: [{ name: 'nothing' }, { name: 'nobody' }] }, 'ok'])
    const failed = only(await eventsOf(createAgent({ model: failing }).stream('go')), 'limits.updated')
    expect(failed.at(-1)?.limits).toContainEqual(expect.objectContaining({ limit: 'errorStreak', used: 2 }))
  })
})

describe('agent.watch', () => {
  it('shows every run of the agent: plain ones, streamed ones, turns of sessions, resumed ones and forks', async () => {
    const tools = [{ ...countingAdd(), needsApproval: true }]
    const model = scriptedModel([adding, 'one', 'two', 'three', 'four', 'five'])
    const agent = createAgent({ model, tools, journal: memoryJournal() })
    const finished: string[] = []
    agent.watch((event) => {
      if (event.type === 'run.finished') finished.push(`${event.runId} ${event.outcome.status}`)
    })
    await agent.run('1+2?', { runId: 'a' })
    await agent.resume('a', { decisions: [{ callId: 'c', approved: true }] })
    await agent.stream('hi', { runId: 'b' }).outcome
    await agent.session('s').run('hi', { runId: 'd' })
    await agent.fork('b', { at: 1, runId: 'e' })
    expect(finished).toEqual(['a waiting', 'a done', 'b done', 'd done', 'e done'])
  })

  it('shows the same as onEvent, beside it, after redact', async () => {
    const seen: AgentEvent[] = []
    const own: AgentEvent[] = []
    const agent = createAgent({
      model: script(),
      tools: [countingAdd()],
      redact: (event) => (event.type === 'model.delta' ? undefined : { ...event, runId: 'hidden' }),
    })
    agent.watch((event) => seen.push(event))
    await agent.run('1+2?', { onEvent: (event) => own.push(event) })
    expect(seen).toEqual(own)
    expect(seen.every(({ runId, type }) => runId === 'hidden' && type !== 'model.delta')).toBe(true)
    expect(seen.length).toBeGreaterThan(10)
  })

  it('shows nothing any more once it was stopped, and to each of several watchers by itself', async () => {
    const agent = createAgent({ model: scriptedModel(['one', 'two']) })
    const first: string[] = []
    const second: string[] = []
    const stop = agent.watch(({ type }) => first.push(type))
    agent.watch(({ type }) => second.push(type))
    await agent.run('go')
    const seen = first.length
    stop()
    await agent.run('go')
    expect(first).toHaveLength(seen)
    expect(second.length).toBeGreaterThan(seen)
  })

  it('costs a warning where a watcher throws, and neither the run nor another watcher', async () => {
    const warned = once(process, 'warning')
    const agent = createAgent({ model: scriptedModel(['hi']) })
    const seen: string[] = []
    agent.watch(({ type }) => {
      if (type === 'run.started') throw new Error('broke')
    })
    agent.watch(({ type }) => seen.push(type))
    expectDone(await agent.run('go'))
    expect(seen).toContain('run.started')
    expect((await warned)[0]).toMatchObject({
      message: 'The watcher of agent.watch threw on "run.started": broke',
    })
  })

  it('asks no text of the model where nobody watches any more', async () => {
    const watched: boolean[] = []
    const step: ScriptedStep = (_request, io) => {
      watched.push(io.onDelta !== undefined)
      return 'hi'
    }
    const agent = createAgent({ model: scriptedModel([step, step]) })
    const stop = agent.watch(() => {})
    await agent.run('go')
    stop()
    await agent.run('go')
    expect(watched).toEqual([true, false])
  })
})

describe('agent.activeRuns', () => {
  it('names the runs that are under way, and no others', async () => {
    const gate = deferred<string>()
    const tools = [returning(gate.promise, 'slow')]
    const agent = createAgent({ model: scriptedModel([{ calls: [{ name: 'slow' }] }, 'ok']), tools })
    expect(agent.activeRuns()).toEqual([])
    const begun = deferred<void>()
    const run = agent.run('go', {
      runId: 'r',
      onEvent: ({ type }) => type === 'tool.started' && begun.resolve(),
    })
    await begun.promise
    expect(agent.activeRuns().map(({ runId }) => runId)).toEqual(['r'])
    gate.resolve('done')
    await run
    expect(agent.activeRuns()).toEqual([])
  })

  it('tells a run something', async () => {
    const gate = deferred<string>()
    const tools = [returning(gate.promise, 'slow')]
    const agent = createAgent({ model: scriptedModel([{ calls: [{ name: 'slow' }] }, 'ok']), tools })
    const begun = deferred<void>()
    const run = agent.run('go', { onEvent: ({ type }) => type === 'tool.started' && begun.resolve() })
    await begun.promise
    const [active] = agent.activeRuns()
    await active?.send('hurry')
    expect(() => active?.send('')).toThrow(expect.objectContaining({ code: 'empty_input' }))
    gate.resolve('done')
    const { transcript } = await run
    expect(transcript).toContainEqual({ role: 'user', content: 'hurry' })
    expect(await rejectionOf(active?.send('late') ?? Promise.resolve())).toMatchObject({ code: 'run_ended' })
  })

  it('cancels a run', async () => {
    const begun = deferred<void>()
    const agent = createAgent({ model: scriptedModel([HANG]) })
    const run = agent.run('go', { onEvent: ({ type }) => type === 'model.requested' && begun.resolve() })
    await begun.promise
    const [active] = agent.activeRuns()
    active?.abort('enough')
    expect(expectAborted(await run)).toMatchObject({ reason: 'cancelled', message: 'enough' })
    active?.abort('again')
  })
})
