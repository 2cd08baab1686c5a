import { afterEach, describe, expect, it, vi } from 'vitest'
import { createAgent, type Journal, memoryJournal, type RunSummary } from '../../src/index.ts'
import { sqliteStore } from '../../src/sqlite/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { journalOf, journalThat } from '../support/journals.ts'
import { expectAborted, expectDone, rejectionOf } from '../support/outcome.ts'
import { countingAdd, deferred, returning } from '../support/tools.ts'

const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }

/** The same journal as another process has it: what one process knows of its own runs does not count. */
function elsewhere(journal: Journal): Journal {
  return { ...journal }
}

/** A journal that a process left which died before the model was asked. */
async function interrupted(): Promise<Journal> {
  const whole = memoryJournal()
  await createAgent({ model: scriptedModel(['ok']), journal: whole }).run('go', { runId: 'r' })
  return journalOf(((await whole.load('r')) ?? []).slice(0, 1))
}

async function typesIn(journal: Journal): Promise<readonly string[]> {
  return ((await journal.load('r')) ?? []).map(({ type }) => type)
}

describe('a run that another process takes up', () => {
  it('is lost to the one that had it, which cannot write to it any more and says so', async () => {
    const journal = memoryJournal()
    const result = deferred<string>()
    const begun = deferred<void>()
    const slow = {
      ...returning(result.promise, 'slow'),
      run: () => {
        begun.resolve()
        return result.promise
      },
    }
    const first = createAgent({
      model: scriptedModel([{ calls: [{ name: 'slow' }] }, 'late']),
      tools: [slow],
      journal,
    })
    const losing = first.run('go', { runId: 'r' })
    await begun.promise
    const second = createAgent({
      model: scriptedModel(['Taken over.']),
      tools: [slow],
      journal: elsewhere(journal),
    })
    expect(expectDone(await second.resume('r')).output).toBe('Taken over.')
    const recorded = await journal.load('r')
    result.resolve('too late')
    expect(expectAborted(await losing)).toMatchObject({
      reason: 'journal_error',
      error: { code: 'run_lost' },
      message: 'The journal failed: somebody else has taken the run up, and it goes on there.',
    })
    expect(await journal.load('r')).toEqual(recorded)
  })

  it('goes to one of several that take it up at once, and the others are told', async () => {
    const shared = await interrupted()
    const gate = deferred<void>()
    // All have read the journal before any of them writes to it.
    const waiting = journalThat({
      ...shared,
      async append(...appended) {
        await gate.promise
        return shared.append(...appended)
      },
    })
    const models = [1, 2, 3].map((n) => scriptedModel([`answer ${n}`]))
    const resumed = models.map((model) => createAgent({ model, journal: elsewhere(waiting) }).resume('r'))
    gate.resolve()
    const settled = await Promise.allSettled(resumed)
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of settled) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'run_active' })
    }
    expect(models.flatMap(({ requests }) => requests)).toHaveLength(1)
    expect(await typesIn(shared)).toEqual(['started', 'resumed', 'event', 'ended'])
  })

  it('is not begun twice under one id', async () => {
    const journal = memoryJournal()
    const runs = ['one', 'two'].map((answer) =>
      createAgent({ model: scriptedModel([answer]), journal: elsewhere(journal) }).run('go', { runId: 'r' }),
    )
    const settled = await Promise.allSettled(runs)
    expect(settled.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(settled.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { name: 'MisuseError', code: 'run_exists' },
    })
    expect(await typesIn(journal)).toEqual(['started', 'event', 'ended'])
  })
})

describe('the journal tells', () => {
  it('who takes a run up, that it waits, and why it ended', async () => {
    const journal = memoryJournal()
    const tools = [{ ...countingAdd(), needsApproval: true }]
    const agent = createAgent({ model: scriptedModel([adding, HANG]), tools, journal })
    const summary = async () => (await journal.list())[0] as RunSummary
    const outcome = await agent.run('go', { runId: 'r' })
    if (outcome.status !== 'waiting') throw new Error(outcome.status)
    expect(await typesIn(journal)).toEqual(['started', 'event', 'waiting'])
    expect(await summary()).toMatchObject({ status: 'waiting', steps: 1, length: 3 })

    const controller = new AbortController()
    const decisions = outcome.approvals.map(({ callId }) => ({ callId, approved: true }))
    await agent.resume('r', {
      decisions,
      signal: controller.signal,
      onEvent: ({ type }) => {
        if (type === 'tool.finished') controller.abort()
      },
    })
    const entries = (await journal.load('r')) ?? []
    expect(entries[3]).toMatchObject({ type: 'resumed', by: expect.stringContaining(String(process.pid)) })
    expect(entries.at(-1)).toMatchObject({ type: 'ended', status: 'aborted', reason: 'cancelled' })
    expect(await summary()).toMatchObject({ status: 'aborted', reason: 'cancelled' })
  })

  it('nothing of a look at a run that waits, or has ended', async () => {
    const journal = memoryJournal()
    const tools = [{ ...countingAdd(), needsApproval: true }]
    const limits = { time: 1_000_000 }
    const agent = createAgent({ model: scriptedModel([adding, 'ok']), tools, journal, limits })
    await agent.run('go', { runId: 'r' })
    await agent.resume('r')
    expect(await typesIn(journal)).toEqual(['started', 'event', 'waiting'])
    await agent.resume('r', { decisions: [{ callId: 'call_0_0', approved: true }] })
    const recorded = await journal.load('r')
    await agent.resume('r')
    expect(await journal.load('r')).toEqual(recorded)
  })

  it('of what the agent was made that began a run', async () => {
    const started = async (instructions: string | undefined, description: string) => {
      const journal = memoryJournal()
      const tool = { ...countingAdd(), description }
      const parts = instructions === undefined ? {} : { instructions }
      await createAgent({ model: scriptedModel(['ok']), tools: [tool], journal, ...parts }).run('go', {
        runId: 'r',
      })
      const [entry] = (await journal.load('r')) ?? []
      return entry?.type === 'started' ? entry.agent : undefined
    }
    const one = await started('Be brief.', 'Adds.')
    expect(one).toEqual({
      loopchart: expect.stringMatching(/^\d+\.\d+\.\d+/),
      model: 'scripted',
      instructions: expect.stringMatching(/^[\da-f]{16}$/),
      tools: { add: expect.stringMatching(/^[\da-f]{16}$/) },
    })
    expect(await started('Be brief.', 'Adds.')).toEqual(one)
    expect((await started('Be long.', 'Adds.'))?.instructions).not.toBe(one?.instructions)
    expect((await started('Be brief.', 'Subtracts.'))?.tools).not.toEqual(one?.tools)
    expect(await started(undefined, 'Adds.')).not.toHaveProperty('instructions')
  })
})

describe('a store in trouble', () => {
  it('that does not say whether it has recorded is not believed', async () => {
    const add = countingAdd()
    const journal = journalThat({ append: () => undefined as never })
    const outcome = expectAborted(
      await createAgent({ model: scriptedModel([adding]), tools: [add], journal }).run('go'),
    )
    expect(outcome.message).toBe('The journal failed: its append must return whether the entries were added')
    expect(add.runs).toEqual([])
  })

  it('that fails midway leaves a run that can be gone on with, and nothing ran that is not recorded', async () => {
    for (const failAt of [1, 2, 3, 4, 5]) {
      const kept = memoryJournal()
      let appended = 0
      const failing = {
        ...kept,
        append: async (...args: Parameters<Journal['append']>) => {
          if (appended++ === failAt) throw new Error('connection lost')
          return kept.append(...args)
        },
      }
      const add = countingAdd({ idempotent: true })
      const broken = createAgent({ model: scriptedModel([adding, 'three']), tools: [add], journal: failing })
      expect(expectAborted(await broken.run('go', { runId: 'r' })).reason).toBe('journal_error')
      const intents = (await typesIn(kept)).filter((type) => type === 'intent').length
      expect(add.runs).toHaveLength(intents)
      expect((await kept.list())[0]).toMatchObject({ status: 'running', length: failAt })

      const told = await typesIn(kept)
      const script = [adding, 'three'].slice(told.includes('event') ? 1 : 0)
      const model = scriptedModel(failAt === 5 ? [] : script)
      const later = createAgent({ model, tools: [add], journal: elsewhere(kept) })
      expect(expectDone(await later.resume('r')).output).toBe('three')
    }
  })

  it('rejects where it fails when a run is looked for, and the run is as it was', async () => {
    const journal = journalThat({
      load: () => Promise.reject(new Error('connection lost')),
    })
    const agent = createAgent({ model: scriptedModel([]), journal })
    expect(await rejectionOf(agent.resume('r'))).toMatchObject({
      code: 'journal_error',
      message: 'The journal of run "r" could not be read: connection lost',
    })
  })
})

describe('a clock that is put back', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([
    ['memory', () => memoryJournal()],
    ['SQLite', () => sqliteStore({ path: ':memory:' }).journal],
  ])('does not keep a lease in %s for longer than it was taken for', async (_store, open) => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    const journal = open()
    await journal.lease('r', 'a', 1000)
    vi.setSystemTime(10_000)
    expect(await journal.lease('r', 'b', 1000)).toBe(false)
    vi.setSystemTime(11_001)
    expect(await journal.lease('r', 'b', 1000)).toBe(true)
    expect(await journal.lease('r', 'a', 1000)).toBe(false)
  })

  it('does not keep a run from being recorded and gone on with', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    const journal = memoryJournal()
    const back: ScriptedStep = () => {
      vi.setSystemTime(Date.now() - 1000)
      return adding
    }
    const tools = [countingAdd()]
    const first = await createAgent({ model: scriptedModel([back, back, 'ok']), tools, journal }).run('go', {
      runId: 'r',
    })
    const entries = (await journal.load('r')) ?? []
    expect(entries.at(-1)?.at).toBe(998_000)
    expect((await journal.list())[0]).toMatchObject({
      startedAt: 1_000_000,
      updatedAt: 1_000_000,
      status: 'done',
    })
    const again = await createAgent({
      model: scriptedModel([]),
      tools,
      journal: await journalOf(entries),
    }).resume('r')
    expect(again.transcript).toEqual(first.transcript)
  })
})
