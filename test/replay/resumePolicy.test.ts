import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import {
  type CustomLimit,
  createAgent,
  defineTool,
  type Journal,
  type JournalEntry,
  JournalMismatchError,
  type Memory,
  memoryJournal,
  type Outcome,
  turns,
} from '../../src/index.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { journalOf } from '../support/journals.ts'
import { expectAborted, expectDone, expectSendable, rejectionOf } from '../support/outcome.ts'
import { script } from '../support/script.ts'
import { countingAdd, throwing } from '../support/tools.ts'
import { entriesOf, recordedRun, settledPlaces, upTo } from './support.ts'

/** Makes room once, when the first result has come. */
const compacting: Memory = {
  view: turns(6).view,
  needsCompaction: ({ length }) => length === 3,
  compact: async () => ({ state: 'a summary' }),
}

const add: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 }, id: 'x' }] }
const addAgain: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 2, b: 2 }, id: 'y' }] }

/** A run with a compaction after its first step, whose process died in the second. */
async function compactedRun(cut: 'after the reply' | 'after the intent' = 'after the reply') {
  const journal = memoryJournal()
  const tools = [countingAdd()]
  const model = scriptedModel([add, addAgain, 'four'])
  await createAgent({ model, tools, memory: compacting, journal, instructions: 'Add.' }).run('go', {
    runId: 'r',
  })
  const entries = await entriesOf(journal)
  const reply = upTo(entries, (entry) => settledPlaces([entry]).includes('model.2.1'))
  return journalOf(cut === 'after the reply' ? reply : entries.slice(0, reply.length + 1))
}

/** An agent that would not have made room. */
function otherAgent(journal: Journal, steps: readonly ScriptedStep[], instructions = 'Add well.') {
  const tool = countingAdd()
  const model = scriptedModel(steps)
  return { tool, model, agent: createAgent({ model, tools: [tool], journal, instructions }) }
}

describe('an agent that works otherwise than the one that recorded a run', () => {
  it('is refused, and told where they part and what of it has changed', async () => {
    const { agent } = otherAgent(await compactedRun(), [])
    const error = (await rejectionOf(agent.resume('r'))) as JournalMismatchError
    expect(error).toBeInstanceOf(JournalMismatchError)
    expect(error).toMatchObject({
      code: 'journal_mismatch',
      position: 4,
      recorded: 'the beginning of compact.1',
      asked: ['model.2.1'],
      changed: ['instructions'],
    })
    expect(error.message).toContain(
      'tells of the beginning of compact.1 at position 4, where this agent asks for model.2.1',
    )
    expect(error.message).toContain('changed since: instructions')
    expect(error.message).toContain('migrate: true')
  })

  it('names tools that came, went or changed', async () => {
    const journal = await compactedRun()
    const tools = [{ ...countingAdd(), description: 'Adds numbers.' }, throwing('x', 'other')]
    const agent = createAgent({ model: scriptedModel([]), tools, journal, instructions: 'Add.' })
    await expect(agent.resume('r')).rejects.toMatchObject({ changed: ['tools (add, other)'] })
  })

  it('goes on where the recorded steps are its own, whatever else has changed', async () => {
    const { entries } = await recordedRun()
    const journal = await journalOf(upTo(entries, (entry) => settledPlaces([entry]).includes('tool.1.1')))
    const { agent, model } = otherAgent(journal, ['7, and better.'], 'Other instructions.')
    expect(expectDone(await agent.resume('r')).output).toBe('7, and better.')
    expect(model.requests[0]?.messages[0]).toMatchObject({ content: 'Other instructions.' })
  })

  it('is refused where the journal says that the run ended and its own would go on', async () => {
    const { journal } = await recordedRun(script, { errorStreak: 1 })
    const entries = await entriesOf(journal)
    const longer = entries.with(0, {
      ...entries[0],
      input: { messages: 'go', limits: { errorStreak: 5 } },
    } as never)
    const model = scriptedModel([])
    const agent = createAgent({
      model,
      tools: [countingAdd(), throwing('no')],
      journal: await journalOf(longer),
    })
    await expect(agent.resume('r')).rejects.toMatchObject({ code: 'journal_mismatch' })
    const endedEarly = [...entries.slice(0, 2), ...entries.slice(-1)]
    const other = createAgent({ model, tools: [countingAdd()], journal: await journalOf(endedEarly) })
    await expect(other.resume('r', { migrate: true })).rejects.toMatchObject({
      recorded: 'the end of the run (done)',
      asked: ['tool.1.0', 'tool.1.1'],
    })
    expect(model.requests).toEqual([])
  })

  it('is refused where its own limits would have ended the run earlier', async () => {
    const { entries } = await recordedRun()
    const enough: CustomLimit = ({ steps }) =>
      steps >= 1 ? { reaction: 'abort', evidence: 'enough' } : undefined
    const agentOn = (journal: Journal) =>
      createAgent({
        model: scriptedModel(['3 and 7.']),
        tools: [countingAdd(), throwing('no')],
        journal,
        customLimits: { enough },
      })
    const inTheMiddle = upTo(entries, (entry) => settledPlaces([entry]).includes('model.2.1'))
    for (const kept of [entries, inTheMiddle]) {
      const journal = await journalOf(kept)
      const agent = agentOn(journal)
      const error = (await rejectionOf(agent.resume('r'))) as JournalMismatchError
      expect(error).toMatchObject({
        code: 'journal_mismatch',
        recorded: 'model.2.1',
        ended: 'aborted: limit',
      })
      expect(error.message).toContain('where this agent has ended the run (aborted: limit)')
      expect(await entriesOf(journal)).toEqual(kept)
    }
    // What is recorded is not judged again: the run goes on from there, under the limits of now.
    const journal = await journalOf(inTheMiddle)
    expectAborted(await agentOn(journal).resume('r', { migrate: true }))
    expect((await agentOn(journal).replay('r')).status).toBe('aborted')
  })

  it('is refused where it would have ended the run for another reason', async () => {
    const { entries } = await recordedRun([{ calls: [{ name: 'fail', id: 'c' }] }, 'ok'])
    const ended = entries.at(-1)
    for (const end of [
      { ...ended, status: 'aborted', reason: 'cancelled' },
      { ...ended, status: 'aborted', reason: 'limit' },
    ]) {
      const journal = await journalOf([...entries.slice(0, -1), end as JournalEntry])
      const agent = createAgent({
        model: scriptedModel([]),
        tools: [countingAdd(), throwing('no')],
        journal,
      })
      expect(await rejectionOf(agent.resume('r'))).toMatchObject({
        recorded: `the end of the run (aborted: ${end.reason})`,
        ended: 'done',
      })
    }
  })

  it('is told how a run ended, where it asks for that whatever it would do today', async () => {
    const journal = await compactedRun()
    const recorder = createAgent({
      model: scriptedModel(['four']),
      tools: [countingAdd()],
      memory: compacting,
      journal,
      instructions: 'Add.',
    })
    const whole = expectDone(await recorder.resume('r'))
    const kept = await entriesOf(journal)
    const { agent, model } = otherAgent(journal, [])
    expect(await rejectionOf(agent.resume('r'))).toMatchObject({ code: 'journal_mismatch' })
    const told = expectDone(await agent.resume('r', { migrate: true }))
    expect(told).toMatchObject({ output: whole.output, transcript: whole.transcript, usage: whole.usage })
    expect(model.requests).toEqual([])
    expect(await entriesOf(journal)).toEqual(kept)
  })
})

describe('migrating', () => {
  it('goes on from the recorded transcript, with open calls answered and nothing done again', async () => {
    const journal = await compactedRun()
    const { agent, tool, model } = otherAgent(journal, ['Three; the other was not run.'])
    const outcome = expectDone(await agent.resume('r', { migrate: true }))
    expect(tool.runs).toEqual([])
    expect(outcome.output).toBe('Three; the other was not run.')
    expect(outcome.transcript.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ])
    expect(outcome.transcript[4]?.content).toContain('Error (cancelled)')
    expect(outcome.transcript[4]?.content).toContain('It was not run.')
    expect(model.requests[0]?.messages[0]).toEqual({ role: 'system', content: 'Add well.' })
    expectSendable(outcome)
  })

  it('tells the model that a call which had begun is in doubt', async () => {
    const journal = await compactedRun('after the intent')
    const { agent, tool } = otherAgent(journal, ['ok'])
    const outcome = expectDone(await agent.resume('r', { migrate: true }))
    expect(outcome.transcript[4]?.content).toContain('Error (in_doubt)')
    expect(tool.runs).toEqual([])
  })

  it('carries on what was spent, the count of steps and the limits', async () => {
    const journal = await compactedRun()
    const { agent, tool } = otherAgent(journal, [addAgain, 'four'])
    const outcome = expectDone(await agent.resume('r', { migrate: true }))
    expect(outcome.steps).toBe(4)
    expect(outcome.toolCalls).toEqual({ total: 3, failed: 1 })
    expect(outcome.usage.inputTokens).toBe(4)
    expect(tool.runs).toEqual([{ a: 2, b: 2 }])
    // No place, and so no idempotency key, is used twice.
    const places = settledPlaces(await entriesOf(journal))
    expect(new Set(places).size).toBe(places.length)
  })

  it('asks anew for a step whose reply had not come, and counts it once', async () => {
    const journal = await compactedRun()
    const asked = upTo(await entriesOf(journal), (entry) => settledPlaces([entry]).includes('compact.1'))
    const { agent } = otherAgent(await journalOf(asked), ['three'])
    const outcome = expectDone(await agent.resume('r', { migrate: true }))
    expect(outcome).toMatchObject({ steps: 2, toolCalls: { total: 1, failed: 0 } })
  })

  it('is recorded, so that the run can be resumed by the new agent as any other', async () => {
    const journal = await compactedRun()
    const first = otherAgent(journal, [addAgain, 'four'])
    const outcome = await first.agent.resume('r', { migrate: true })
    const entries = await entriesOf(journal)
    for (let cut = upTo(entries, ({ type }) => type === 'migrated').length; cut <= entries.length; cut++) {
      const kept = await journalOf(entries.slice(0, cut))
      const done = settledPlaces(entries.slice(0, cut)).includes('model.3.1') ? 1 : 0
      const { agent, tool } = otherAgent(kept, [addAgain, 'four'].slice(done))
      const again: Outcome = await agent.resume('r')
      expect(again.status, `cut at ${cut}`).toBe('done')
      expect(again.transcript.length, `cut at ${cut}`).toBe(outcome.transcript.length)
      expect(tool.runs.length).toBeLessThanOrEqual(1)
    }
    const told = await first.agent.replay('r')
    expect(told.status).toBe('done')
    expect(told.entries.flatMap(({ messages }) => messages)).toEqual(outcome.transcript)
  })

  it('keeps what was sent to the run, and the time that it took', async () => {
    const startedAt = 1000
    const at = startedAt + 700
    const recorded = (await entriesOf(await compactedRun())).map((entry, i) => ({
      ...entry,
      at: i === 0 ? startedAt : at,
    }))
    const sent: JournalEntry = {
      type: 'event',
      at,
      event: { type: 'sent', message: { role: 'user', content: 'And be quick.' } },
    }
    const journal = await journalOf([...recorded, sent])
    const { agent, model } = otherAgent(journal, ['ok'])
    await agent.resume('r', { migrate: true })
    expect(model.requests[0]?.messages.at(-1)).toEqual({ role: 'user', content: 'And be quick.' })
    const migrated = (await entriesOf(journal)).find(({ type }) => type === 'migrated')
    expect(migrated).toMatchObject({ input: { carried: { step: 2, elapsedMs: 700 } } })
  })

  it('changes nothing where the recorded steps fit', async () => {
    const { entries } = await recordedRun()
    const journal = await journalOf(entries.slice(0, 4))
    const { agent } = otherAgent(journal, ['ok', 'ok'])
    await agent.resume('r', { migrate: true })
    expect((await entriesOf(journal)).map(({ type }) => type)).not.toContain('migrated')
  })

  it('concludes at once where the limits of the run are used up', async () => {
    const journal = memoryJournal()
    const model = scriptedModel([add, addAgain])
    const agent = createAgent({ model, tools: [countingAdd()], memory: compacting, journal })
    await agent.run({ messages: 'go', limits: { steps: 2 } }, { runId: 'r' })
    const cut = upTo(await entriesOf(journal), (entry) => settledPlaces([entry]).includes('model.2.1'))
    const other = otherAgent(await journalOf(cut), ['What is known.'])
    const outcome = expectDone(await other.agent.resume('r', { migrate: true }))
    expect(outcome).toMatchObject({ output: 'What is known.', stoppedBy: { limit: 'steps', max: 2 } })
    expect(other.model.requests[0]?.tools).toEqual([])
  })
})

describe('a tool call in doubt', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  const book = (runs: unknown[], idempotent = false) =>
    defineTool({
      name: 'book',
      description: 'Books a seat.',
      input: z.object({ seat: z.string() }),
      needsApproval: true,
      idempotent,
      run: (args, { idempotencyKey }) => {
        runs.push([args, idempotencyKey])
        return 'booked'
      },
    })
  const calls: ScriptedStep = { calls: [{ name: 'book', arguments: { seat: '7a' }, id: 's' }] }
  const approval = { callId: 's', approved: true }

  /** A run whose process died while an approved call ran. */
  async function diedBooking(): Promise<Journal> {
    const journal = memoryJournal()
    const agent = createAgent({ model: scriptedModel([calls, 'ok']), tools: [book([])], journal })
    await agent.run('go', { runId: 'r' })
    await agent.resume('r', { decisions: [approval] })
    return journalOf(upTo(await entriesOf(journal), ({ type }) => type === 'intent'))
  }

  function bookingAgent(journal: Journal, idempotent = false) {
    const runs: unknown[] = []
    const model = scriptedModel(['ok'])
    return { runs, model, agent: createAgent({ model, tools: [book(runs, idempotent)], journal }) }
  }

  it('is put to a person, and the run waits', async () => {
    const journal = await diedBooking()
    const { agent, runs, model } = bookingAgent(journal)
    const outcome = await agent.resume('r', { inDoubt: 'ask' })
    expect(outcome).toMatchObject({
      status: 'waiting',
      approvals: [{ callId: 's', name: 'book', arguments: '{"seat":"7a"}', inDoubt: true }],
    })
    expect(outcome.transcript.at(-1)?.content).toContain('Error (in_doubt)')
    expect([runs, model.requests]).toEqual([[], []])
    expect(await journal.list({ status: 'waiting' })).toHaveLength(1)
    expectSendable(outcome)
    // Asking again asks the same.
    expect(await agent.resume('r', { inDoubt: 'ask' })).toMatchObject({ status: 'waiting' })
  })

  it('runs again with its key where the person says so', async () => {
    const { agent, runs } = bookingAgent(await diedBooking())
    await agent.resume('r', { inDoubt: 'ask' })
    const decisions = [{ ...approval, inDoubt: true }] as const
    expect(expectDone(await agent.resume('r', { decisions })).transcript[2]?.content).toBe('booked')
    expect(runs).toEqual([[{ seat: '7a' }, 'r/tool.1.0']])
  })

  it('does not run again otherwise, and the model is told what the person says', async () => {
    const { agent, runs } = bookingAgent(await diedBooking())
    await agent.resume('r', { inDoubt: 'ask' })
    const decisions = [
      { callId: 's', approved: false, inDoubt: true, reason: 'It is booked, order 77.' },
    ] as const
    const outcome = expectDone(await agent.resume('r', { decisions }))
    expect(outcome.transcript[2]?.content).toContain('A person says: It is booked, order 77.')
    expect(runs).toEqual([])
  })

  it('is not run again by an approval that is delivered once more', async () => {
    const { agent, runs } = bookingAgent(await diedBooking())
    const waiting = await agent.resume('r', { inDoubt: 'ask', decisions: [approval] })
    expect(waiting.status).toBe('waiting')
    expectDone(await agent.resume('r', { decisions: [approval] }))
    expect(runs).toEqual([])
  })

  it('runs again with its key where the process died between the word of the person and the call', async () => {
    const journal = await diedBooking()
    await bookingAgent(journal).agent.resume('r', { inDoubt: 'ask' })
    const decisions = [{ ...approval, inDoubt: true }] as const
    await bookingAgent(journal).agent.resume('r', { decisions })
    const decided = upTo(await entriesOf(journal), (entry) => {
      return entry.type === 'event' && entry.event.type === 'decided' && entry.event.decision.inDoubt === true
    })
    const { agent, runs } = bookingAgent(await journalOf(decided))
    expectDone(await agent.resume('r'))
    expect(runs).toEqual([[{ seat: '7a' }, 'r/tool.1.0']])
    // Once it has begun again, it is in doubt again.
    const begun = [...decided, { type: 'intent', at: 0, place: 'tool.1.0' }] as const
    const again = bookingAgent(await journalOf(begun))
    expect(expectDone(await again.agent.resume('r')).transcript[2]?.content).toContain('Error (in_doubt)')
    expect(again.runs).toEqual([])
  })

  it('is let run once more by each decision once: it is another doubt once it has begun again', async () => {
    const journal = await diedBooking()
    const first = await bookingAgent(journal).agent.resume('r', { inDoubt: 'ask' })
    const tokenOf = (outcome: Outcome) =>
      outcome.status === 'waiting' ? outcome.approvals[0]?.token : undefined
    const bare = { ...approval, inDoubt: true } as const
    const decision = { ...bare, token: tokenOf(first) }
    await bookingAgent(journal).agent.resume('r', { decisions: [decision] })
    // The process died once more while the call ran, and the word is delivered again.
    const kept = upTo(await entriesOf(journal), ({ type }) => type === 'intent')
    expect(kept.filter(({ type }) => type === 'intent')).toHaveLength(2)
    const again = await journalOf(kept)
    const { agent, runs } = bookingAgent(again)
    for (const repeated of [decision, bare]) {
      const refused = await rejectionOf(agent.resume('r', { decisions: [repeated] }))
      expect(refused).toMatchObject({ code: 'approval_mismatch' })
    }
    // Nothing was taken from whoever is at work on it.
    expect(await entriesOf(again)).toEqual(kept)
    const second = tokenOf(await agent.resume('r', { inDoubt: 'ask' }))
    expect(second).not.toBe(decision.token)
    expectDone(await agent.resume('r', { decisions: [{ ...bare, token: second }] }))
    expect(runs).toHaveLength(1)
  })

  it('has no part in a run that has ended: a decision that comes too late writes nothing', async () => {
    const journal = await diedBooking()
    const { agent } = bookingAgent(journal)
    const decision = { ...approval, inDoubt: true } as const
    expectDone(await agent.resume('r', { decisions: [decision] }))
    const ended = await entriesOf(journal)
    const readOnly = bookingAgent({
      ...journal,
      append: () => {
        throw new Error('read-only')
      },
    })
    for (const again of [approval, decision]) {
      expectDone(await agent.resume('r', { decisions: [again] }))
      expectDone(await readOnly.agent.resume('r', { decisions: [again] }))
    }
    expect(await entriesOf(journal)).toEqual(ended)
  })

  it('is decided by a decision on a call that asks for the same', async () => {
    const twice: ScriptedStep = {
      calls: [
        { name: 'book', arguments: { seat: '7a' }, id: 's' },
        { name: 'book', arguments: { seat: '7a' }, id: 't' },
      ],
    }
    const runs: unknown[] = []
    const journal = memoryJournal()
    const tools = [book(runs)]
    await createAgent({ model: scriptedModel([twice, 'ok']), tools, journal }).run('go', { runId: 'r' })
    await createAgent({ model: scriptedModel(['ok']), tools, journal }).resume('r', { decisions: [approval] })
    const kept = upTo(await entriesOf(journal), ({ type }) => type === 'intent')
    const { agent } = bookingAgent(await journalOf(kept))
    const decisions = [{ callId: 't', approved: false, inDoubt: true, reason: 'Order 77.' }] as const
    const { transcript } = expectDone(await agent.resume('r', { decisions }))
    expect(transcript[2]?.content).toContain('A person says: Order 77.')
    expect(transcript[3]?.content).toBe(transcript[2]?.content)
  })

  it('takes no decision on a call that the run does not have', async () => {
    const { agent, runs } = bookingAgent(await diedBooking())
    for (const inDoubt of [true, undefined] as const) {
      const decisions = [{ callId: 'other', approved: true, inDoubt }]
      expect(await rejectionOf(agent.resume('r', { decisions }))).toMatchObject({ code: 'unknown_call' })
    }
    expectDone(await agent.resume('r'))
    // A decision that is delivered once more is no mistake.
    expectDone(await agent.resume('r', { decisions: [{ ...approval, inDoubt: true }] }))
    expect(runs).toEqual([])
  })

  it('does not use up the time of the run while a person thinks about it', async () => {
    vi.useFakeTimers()
    const journal = memoryJournal()
    const limits = { time: 60_000 }
    const tools = [book([])]
    await createAgent({ model: scriptedModel([calls]), tools, journal, limits }).run('go', { runId: 'r' })
    await createAgent({ model: scriptedModel(['ok']), tools, journal, limits }).resume('r', {
      decisions: [approval],
    })
    const died = await journalOf(upTo(await entriesOf(journal), ({ type }) => type === 'intent'))
    const { agent } = bookingAgent(died)
    expect((await agent.resume('r', { inDoubt: 'ask' })).status).toBe('waiting')
    vi.setSystemTime(Date.now() + 3_600_000)
    expect((await agent.resume('r', { inDoubt: 'ask' })).status).toBe('waiting')
    vi.setSystemTime(Date.now() + 3_600_000)
    const decisions = [{ callId: 's', approved: false, inDoubt: true }] as const
    const outcome = expectDone(await agent.resume('r', { decisions }))
    expect(outcome.stoppedBy).toBeUndefined()
    expect((await agent.replay('r')).ending).toMatchObject({ status: 'done' })
  })

  it('of an idempotent tool asks nobody', async () => {
    const { agent, runs } = bookingAgent(await diedBooking(), true)
    expectDone(await agent.resume('r', { inDoubt: 'ask' }))
    expect(runs).toHaveLength(1)
  })

  it('of an idempotent tool does not run again where a person says so', async () => {
    const { agent, runs } = bookingAgent(await diedBooking(), true)
    const decisions = [{ callId: 's', approved: false, inDoubt: true }] as const
    expectDone(await agent.resume('r', { decisions }))
    expect(runs).toEqual([])
  })

  it('takes a decision on exactly the call that was shown, with its own arguments', async () => {
    const { agent } = bookingAgent(await diedBooking())
    const decision = { ...approval, inDoubt: true } as const
    await expect(agent.resume('r', { decisions: [{ ...decision, token: 'other' }] })).rejects.toMatchObject({
      code: 'approval_mismatch',
    })
    await expect(
      agent.resume('r', { decisions: [{ ...decision, arguments: { seat: '8b' } }] }),
    ).rejects.toMatchObject({ code: 'invalid_decision' })
    const outcome = await agent.resume('r', { inDoubt: 'ask' })
    const [token] = outcome.status === 'waiting' ? outcome.approvals.map((pending) => pending.token) : []
    expectDone(await agent.resume('r', { decisions: [{ ...decision, token }] }))
  })

  it('lets the other calls of its step go on meanwhile', async () => {
    const { entries } = await recordedRun()
    const cut = upTo(entries, (entry) => entry.type === 'intent' && entry.place === 'tool.1.1')
    const journal = await journalOf([...cut.slice(0, -2), ...cut.slice(-1)])
    const tool = countingAdd()
    const agent = createAgent({ model: scriptedModel(['ok']), tools: [tool], journal })
    const outcome = await agent.resume('r', { inDoubt: 'ask' })
    expect(outcome).toMatchObject({ status: 'waiting', approvals: [{ callId: 'b', inDoubt: true }] })
    expect(tool.runs).toEqual([{ a: 1, b: 2 }])
    const decisions = [{ callId: 'b', approved: false, inDoubt: true }] as const
    expect(expectDone(await agent.resume('r', { decisions })).transcript[2]?.content).toBe('3')
  })

  it('can be given up while it waits', async () => {
    const { agent } = bookingAgent(await diedBooking())
    await agent.resume('r', { inDoubt: 'ask' })
    const outcome = await agent.resume('r', { inDoubt: 'ask', signal: AbortSignal.abort('enough') })
    expect(expectAborted(outcome).reason).toBe('cancelled')
    expectSendable(outcome)
  })
})
