import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  createAgent,
  defineTool,
  type Journal,
  type JournalEntry,
  type Message,
  memoryJournal,
  memorySessions,
  type SessionRecord,
  type SessionStore,
  summary,
} from '../../src/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { characters, says, user } from '../memory/support.ts'
import { expectAborted, expectDone, expectSendable, rejectionOf } from '../support/outcome.ts'
import { countingAdd, deaf, deferred } from '../support/tools.ts'

const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }

const contents = (messages: readonly Message[] | undefined): readonly unknown[] =>
  (messages ?? []).map(({ content }) => content)

describe('a session', () => {
  it('carries the conversation from run to run', async () => {
    const model = scriptedModel(['Hello Ada.', 'You are Ada.'])
    const session = createAgent({ model, instructions: 'Be brief.' }).session('s')
    expectDone(await session.run('I am Ada.'))
    expectDone(await session.run('Who am I?'))
    expect(contents(model.requests[1]?.messages)).toEqual([
      'Be brief.',
      'I am Ada.',
      'Hello Ada.',
      'Who am I?',
    ])
    expect(await session.messages()).toEqual([
      user('I am Ada.'),
      says('Hello Ada.'),
      user('Who am I?'),
      says('You are Ada.'),
    ])
  })

  it('is the same one for the same id, and another for another', async () => {
    const model = scriptedModel(['one', 'two', 'three'])
    const agent = createAgent({ model })
    await agent.session('a').run('first')
    await agent.session('b').run('other')
    await agent.session('a').run('second')
    expect(contents(model.requests[2]?.messages)).toEqual(['first', 'one', 'second'])
    expect(await agent.session('never used').messages()).toEqual([])
  })

  it('keeps system text that came with its first messages', async () => {
    const model = scriptedModel(['one', 'two'])
    const session = createAgent({ model }).session('s')
    await session.run([{ role: 'system', content: 'Speak French.' }, user('hi')])
    await session.run('again')
    expect(contents(model.requests[1]?.messages)).toEqual(['Speak French.', 'hi', 'one', 'again'])
  })

  it('has one system message, the newest that came', async () => {
    const model = scriptedModel(['one', 'two', 'three'])
    const session = createAgent({ model }).session('s')
    for (const [i, content] of ['Be kind.', 'Be kind.', 'Be brief.'].entries()) {
      await session.run([{ role: 'system', content }, user(`question ${i}`)])
    }
    expect(model.requests.map(({ messages }) => messages[0]?.content)).toEqual([
      'Be kind.',
      'Be kind.',
      'Be brief.',
    ])
  })

  it('carries the summary on, so that nothing is summarised twice', async () => {
    const summariser = scriptedModel(['notes on the beginning'])
    const model = scriptedModel(Array.from({ length: 8 }, (_, i) => `answer ${i} ${'.'.repeat(60)}`))
    const memory = summary({ at: 900, keep: 300, maxTokens: 100, model: summariser })
    const session = createAgent({ model, memory, tokenCounter: characters }).session('s')
    for (let i = 0; i < 8; i++) expectDone(await session.run(`question ${i} ${'.'.repeat(30)}`))
    expect(summariser.requests).toHaveLength(1)
    expect(contents(model.requests.at(-1)?.messages)[0]).toContain('notes on the beginning')
    expect(await session.messages()).toHaveLength(16)
  })

  it('can be cleared', async () => {
    const model = scriptedModel(['one', 'two'])
    const session = createAgent({ model }).session('s')
    await session.run('first')
    await session.clear()
    expect(await session.messages()).toEqual([])
    await session.run('second')
    expect(contents(model.requests[1]?.messages)).toEqual(['second'])
  })

  it('can be forked: both go on from the same words and do not see each other', async () => {
    const model = scriptedModel(['one', 'left', 'right'])
    const agent = createAgent({ model })
    const session = agent.session('s')
    await session.run('first')
    const fork = await session.fork('f')
    await session.run('to the left')
    await fork.run('to the right')
    expect(contents(await session.messages())).toEqual(['first', 'one', 'to the left', 'left'])
    expect(contents(await agent.session('f').messages())).toEqual(['first', 'one', 'to the right', 'right'])
    expect(await rejectionOf(session.fork('f'))).toMatchObject({ code: 'session_exists' })
    expect((await session.fork()).id).not.toBe((await session.fork()).id)
  })

  it('shows what happens in a run of it', async () => {
    const session = createAgent({ model: scriptedModel(['Hello there.', 'again']) }).session('s')
    const run = session.stream('hi')
    let text = ''
    for await (const event of run) if (event.type === 'model.delta') text += event.text
    expect(text).toBe('Hello there.')
    expectDone(await run.outcome)
    expect(contents(await session.messages())).toEqual(['hi', 'Hello there.'])
  })

  it('takes other limits for one run, and refuses a run without a question', async () => {
    const model = scriptedModel([adding, 'closing'])
    const session = createAgent({ model, tools: [countingAdd()] }).session('s')
    const outcome = expectDone(await session.run({ messages: 'go', limits: { steps: 1 } }))
    expect(outcome.stoppedBy?.limit).toBe('steps')
    expect(await rejectionOf(session.run(''))).toMatchObject({ code: 'empty_input' })
    expect(await session.messages()).toHaveLength(4)
  })

  it.each([['', {}] as const, ['s', { whenBusy: 'wait' }] as const])('refuses %j %j', (id, options) => {
    const agent = createAgent({ model: scriptedModel([]) })
    expect(() => agent.session(id, options as never)).toThrow(/must be/)
  })
})

describe('two runs of one session', () => {
  it('follow each other, and are never interleaved', async () => {
    const gate = deferred<string>()
    const model = scriptedModel([() => gate.promise, 'two', 'three'])
    const agent = createAgent({ model })
    const runs = ['first', 'second', 'third'].map((question) => agent.session('s').run(question))
    gate.resolve('one')
    for (const run of runs) expectDone(await run)
    expect(contents(await agent.session('s').messages())).toEqual([
      'first',
      'one',
      'second',
      'two',
      'third',
      'three',
    ])
  })

  it('are refused with a code of their own where the session says so', async () => {
    const gate = deferred<string>()
    const session = createAgent({ model: scriptedModel([() => gate.promise, 'two']) }).session('s', {
      whenBusy: 'refuse',
    })
    const first = session.run('first')
    expect(await rejectionOf(session.run('second'))).toMatchObject({ code: 'session_busy' })
    gate.resolve('one')
    expectDone(await first)
    expectDone(await session.run('third'))
    expect(contents(await session.messages())).toEqual(['first', 'one', 'third', 'two'])
  })

  it('are each stopped at once, also while they wait for their turn', async () => {
    const session = createAgent({ model: scriptedModel([HANG]) }).session('s')
    const first = session.stream('first')
    const second = session.stream('second')
    second.abort('no longer wanted')
    expect(expectAborted(await second.outcome)).toMatchObject({
      reason: 'cancelled',
      message: 'no longer wanted',
    })
    first.abort()
    expectAborted(await first.outcome)
    expect(contents(await session.messages())).toEqual(['first'])
  })

  it('cannot be one inside the other', async () => {
    const told: unknown[] = []
    const nested = defineTool({
      name: 'nested',
      description: 'Goes on with the session from inside.',
      input: z.object({}),
      run: async () => {
        told.push(
          await rejectionOf(agent.session('s').run('inner')),
          await rejectionOf(agent.session('s').clear()),
        )
        return expectDone(await agent.session('other').run('elsewhere')).output
      },
    })
    const model = scriptedModel([{ calls: [{ name: 'nested' }] }, 'elsewhere', 'outer'])
    const agent: Agent = createAgent({ model, tools: [nested] })
    expect(expectDone(await agent.session('s').run('outer')).output).toBe('outer')
    expect(told).toMatchObject([{ code: 'session_busy' }, { code: 'session_busy' }])
  })

  it('in different sessions do not wait for each other', async () => {
    const step: ScriptedStep = ({ messages }) => (messages[0]?.content === 'first' ? HANG : 'two')
    const agent = createAgent({ model: scriptedModel([step, step]) })
    const hanging = agent.session('a').stream('first')
    expectDone(await agent.session('b').run('second'))
    hanging.abort()
    await hanging.outcome
  })
})

describe('a session that was interrupted', () => {
  it('goes on after a run that was aborted in the middle of a tool call', async () => {
    const model = scriptedModel([{ calls: [{ name: 'deaf' }] }, 'fine'])
    const session = createAgent({ model, tools: [deaf()] }).session('s')
    const run = session.stream('go')
    for await (const event of run) if (event.type === 'tool.started') run.abort()
    expectSendable(await run.outcome)
    expectDone(await session.run('and now?'))
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  /** A run of the session "s" that a crash cut off after so many entries of its journal, as another process finds it. */
  async function crashed(entries: number): Promise<{ journal: Journal; sessions: SessionStore }> {
    const journal = memoryJournal()
    const saved: SessionRecord[] = []
    const store = memorySessions()
    const sessions: SessionStore = {
      load: (id) => store.load(id),
      save(id, record) {
        saved.push(record)
        return store.save(id, record)
      },
    }
    const model = scriptedModel([adding, 'three'])
    await createAgent({ model, tools: [countingAdd()], journal, sessions })
      .session('s')
      .run('1+2?', { runId: 'r' })
    const left = { journal: memoryJournal(), sessions: memorySessions() }
    const recorded = journal.load('r') as readonly JournalEntry[]
    if (entries > 0) await left.journal.append('r', recorded.slice(0, entries), 0)
    left.sessions.save('s', saved[0] as SessionRecord)
    return left
  }

  it('goes on from what its journal holds, wherever the crash was', async () => {
    const whole = 6
    for (let entries = 0; entries <= whole; entries++) {
      const left = await crashed(entries)
      const model = scriptedModel(['fine'])
      const agent = createAgent({ model, tools: [countingAdd()], ...left })
      expectDone(await agent.session('s').run('and now?'))
      const roles = model.requests[0]?.messages.map(({ role }) => role)
      expect(roles?.[0]).toBe('user')
      expect(roles?.at(-1)).toBe('user')
      if (entries === whole) expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
      else expect(roles).not.toContain('system')
    }
  })

  it('can go on with that very run', async () => {
    const left = await crashed(2)
    const add = countingAdd()
    const agent = createAgent({ model: scriptedModel(['three', 'fine']), tools: [add], ...left })
    const session = agent.session('s')
    expect(expectDone(await session.resume()).output).toBe('three')
    expect(add.runs).toHaveLength(1)
    expect((await session.messages()).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
    expect(await rejectionOf(session.resume())).toMatchObject({ code: 'no_open_run' })
  })

  it('is saved by who took the run up, not by who lost it', async () => {
    const [journal, sessions] = [memoryJournal(), memorySessions()]
    const gate = deferred<string>()
    const begun = deferred<void>()
    const stuck: ScriptedStep = () => {
      begun.resolve()
      return gate.promise
    }
    const losing = createAgent({ model: scriptedModel([stuck]), journal, sessions }).session('s')
    const lost = losing.run('1+2?', { runId: 'r' })
    await begun.promise
    const elsewhere = { journal: { ...journal }, sessions: { ...sessions } }
    const letItLose: ScriptedStep = async () => {
      gate.resolve('too late')
      expect(expectAborted(await lost).error).toMatchObject({ code: 'run_lost' })
      return 'three'
    }
    const taking = createAgent({ model: scriptedModel([letItLose]), ...elsewhere }).session('s')
    expect(expectDone(await taking.resume()).output).toBe('three')
    expect(contents(await losing.messages())).toEqual(['1+2?', 'three'])
  })

  it('by its journal goes on with that very run, once the journal works again', async () => {
    const [kept, sessions] = [memoryJournal(), memorySessions()]
    let isFull = false
    const append: Journal['append'] = (runId, entries, length) => {
      if (isFull) throw new Error('disk full')
      return kept.append(runId, entries, length)
    }
    const add = countingAdd()
    const fillTheDisk: ScriptedStep = () => {
      isFull = true
      return 'not recorded'
    }
    const failing = createAgent({
      model: scriptedModel([adding, fillTheDisk]),
      tools: [add],
      journal: { ...kept, append },
      sessions,
    })
    const outcome = expectAborted(await failing.session('s').run('1+2?'))
    expect(outcome.reason).toBe('journal_error')
    const agent = createAgent({ model: scriptedModel(['three']), tools: [add], journal: kept, sessions })
    expect(expectDone(await agent.session('s').resume()).output).toBe('three')
    expect(add.runs).toHaveLength(1)
  })

  it('keeps the question where there is no journal', async () => {
    const { sessions } = await crashed(0)
    const model = scriptedModel(['fine'])
    await createAgent({ model, sessions }).session('s').run('and now?')
    expect(contents(model.requests[0]?.messages)).toEqual(['1+2?', 'and now?'])
  })

  it('has no run to go on with where nothing of it was recorded', async () => {
    const agent = createAgent({ model: scriptedModel([]), ...(await crashed(0)) })
    expect(await rejectionOf(agent.session('s').resume())).toMatchObject({ code: 'no_open_run' })
  })
})

describe('a session whose run waits for a person', () => {
  const pay = { ...countingAdd(), needsApproval: true }
  const waiting = () => {
    const model = scriptedModel([adding, 'paid', 'another'])
    const agent = createAgent({ model, tools: [pay], journal: memoryJournal() })
    return { session: agent.session('s'), model }
  }

  it('goes on with the decision', async () => {
    const { session } = waiting()
    const outcome = await session.run('pay')
    if (outcome.status !== 'waiting') throw new Error('it should wait')
    const callId = outcome.approvals[0]?.callId ?? ''
    const done = await session.resume({ decisions: [{ callId, approved: true }] })
    expect(expectDone(done).output).toBe('paid')
    expect((await session.messages()).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
  })

  it('goes on without it where the user says something else: the call is answered as not made', async () => {
    const { session, model } = waiting()
    await session.run('pay')
    expectDone(await session.run('never mind'))
    const { messages } = model.requests[1] as (typeof model.requests)[number]
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(messages[2]?.content).toMatch(/cancelled/)
    expect(await rejectionOf(session.resume())).toMatchObject({ code: 'no_open_run' })
  })
})

describe('the store of sessions', () => {
  it('tells two processes apart that go on with one session at once', async () => {
    const sessions = memorySessions()
    const gate = deferred<string>()
    // A store that looks like another one, as it does from another process.
    const elsewhere: SessionStore = { load: sessions.load, save: sessions.save }
    const slow = createAgent({ model: scriptedModel([() => gate.promise]), sessions }).session('s')
    const quick = createAgent({ model: scriptedModel(['quick']), sessions: elsewhere }).session('s')
    const first = slow.run('slow question')
    await new Promise(setImmediate)
    expectDone(await quick.run('quick question'))
    gate.resolve('slow')
    const error = await rejectionOf(first)
    expect(error).toMatchObject({ code: 'session_conflict', outcome: { status: 'done', output: 'slow' } })
    expect(contents(await quick.messages())).toEqual(['slow question', 'quick question', 'quick'])
  })

  it('that fails is told with a code, and with the outcome where there is one', async () => {
    const unreadable: SessionStore = {
      load: () => Promise.reject(new Error('disk gone')),
      save: () => true,
    }
    const agent = createAgent({ model: scriptedModel([]), sessions: unreadable })
    expect(await rejectionOf(agent.session('s').run('hi'))).toMatchObject({
      code: 'session_store_error',
      message: expect.stringMatching(/"s" failed: disk gone/),
    })
    let saves = 0
    const full: SessionStore = {
      load: () => undefined,
      save() {
        if (saves++ > 0) throw new Error('disk full')
        return true
      },
    }
    const told = rejectionOf(
      createAgent({ model: scriptedModel(['ok']), sessions: full })
        .session('s')
        .run('hi'),
    )
    expect(await told).toMatchObject({ code: 'session_store_error', outcome: { output: 'ok' } })
  })

  it('that hangs holds nobody who is told to stop', async () => {
    vi.useFakeTimers()
    try {
      for (const hanging of ['load', 'save'] as const) {
        const never = (): Promise<never> => new Promise(() => {})
        const store: SessionStore = { load: () => undefined, save: () => true, [hanging]: never }
        const session = createAgent({ model: scriptedModel([]), sessions: store }).session('s')
        const controller = new AbortController()
        const told = rejectionOf(session.run('hi', { signal: controller.signal }))
        await vi.advanceTimersByTimeAsync(0)
        controller.abort()
        await vi.advanceTimersByTimeAsync(1000)
        expect(await told).toMatchObject({
          code: 'session_store_error',
          message: /did not answer within 1000 ms/,
        })
      }
    } finally {
      vi.useRealTimers()
    }
  })

  it('that keeps what is absent as null is understood; one that does not say whether it saved is told', async () => {
    const rows = memorySessions()
    const withNulls: SessionStore = {
      save: rows.save,
      load: async (id) => ({ memory: null, openRun: null, ...(await rows.load(id)) }) as never,
    }
    rows.save('s', { version: 1, revision: 1, messages: [user('a'), says('b')] })
    const agent = createAgent({ model: scriptedModel(['ok']), sessions: withNulls })
    expectDone(await agent.session('s').run('hi'))
    const silent: SessionStore = { load: () => undefined, save: () => undefined as never }
    const other = createAgent({ model: scriptedModel([]), sessions: silent })
    expect(await rejectionOf(other.session('s').run('hi'))).toMatchObject({ code: 'session_store_error' })
  })

  it('that holds something else is told', async () => {
    const odd: SessionStore = { load: () => ({ version: 2 }) as never, save: () => true }
    const agent = createAgent({ model: scriptedModel([]), sessions: odd })
    expect(await rejectionOf(agent.session('s').messages())).toMatchObject({ code: 'session_store_error' })
  })

  it('is left as it was by a run that could not begin', async () => {
    const sessions = memorySessions()
    const journal = memoryJournal()
    const session = createAgent({ model: scriptedModel(['one', 'two']), sessions, journal }).session('s')
    await session.run('first', { runId: 'taken' })
    expect(await rejectionOf(session.run('second', { runId: 'taken' }))).toMatchObject({ code: 'run_exists' })
    expect(contents(await session.messages())).toEqual(['first', 'one'])
    expectDone(await session.run('third'))
  })
})
