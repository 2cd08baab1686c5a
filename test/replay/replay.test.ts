import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { describeError } from '../../src/errors.ts'
import {
  type AgentEvent,
  type CustomLimit,
  createAgent,
  defineTool,
  type JournalEntry,
  type Limits,
  type Memory,
  ModelError,
  memoryJournal,
  replay,
  turns,
} from '../../src/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { journalOf } from '../support/journals.ts'
import { expectAborted } from '../support/outcome.ts'
import { script } from '../support/script.ts'
import { countingAdd, throwing } from '../support/tools.ts'
import { entriesOf, recordedRun, untouchable } from './support.ts'

afterEach(() => {
  vi.useRealTimers()
})

const tooLong = new ModelError('context_too_long', 'That is too long.', { retryable: false })

describe('a replay', () => {
  it('shows every transition that the run took, each with the guard that decided, in the same order', async () => {
    const seen: AgentEvent[] = []
    const journal = memoryJournal()
    const tools = [countingAdd(), throwing(new Error('no'))]
    const agent = createAgent({ model: scriptedModel(script), tools, journal, limits: { errorStreak: 1 } })
    await agent.run('go', { runId: 'r', onEvent: (event) => seen.push(event) })
    const transitions = seen.flatMap((event) => {
      if (event.type !== 'transition') return []
      const { type: _type, runId: _runId, at: _at, verdict: _verdict, ...edge } = event
      return [edge]
    })
    const { entries } = await agent.replay('r')
    expect(transitions.length).toBeGreaterThan(8)
    // What leads to the first state was over before anybody could watch.
    expect(entries.slice(1).flatMap((entry) => entry.transitions)).toEqual(transitions)
    expect(entries.map(({ verdict }) => verdict).filter((verdict) => verdict !== undefined)).toEqual(
      seen.flatMap((event) => (event.type === 'limit.reached' ? [event.verdict] : [])),
    )
  })

  it('adds up to the transcript of the run, and to its end', async () => {
    const { entries, outcome } = await recordedRun()
    const told = replay(entries, { runId: 'r' })
    expect(told.entries.flatMap(({ messages }) => messages)).toEqual(outcome.transcript)
    expect(told).toMatchObject({ runId: 'r', status: 'done', ending: { output: '3 and 7.', steps: 3 } })
    expect(told.entries.map(({ position }) => position)).toEqual([...entries.keys()])
    expect(told.entries.at(-1)).toMatchObject({ step: 3, state: 'done' })
  })

  it('calls neither a model nor a tool nor a memory, and writes nothing', async () => {
    const { journal, entries } = await recordedRun()
    const add = countingAdd()
    const model = untouchable()
    const compact = (): never => {
      throw new Error('asked to compact')
    }
    const memory = { ...turns(6), compact }
    const agent = createAgent({ model, tools: [add], memory, journal })
    await agent.replay('r')
    expect(model.requests).toEqual([])
    expect(add.runs).toEqual([])
    expect(await entriesOf(journal)).toEqual(entries)
  })

  it('stands where the journal breaks off', async () => {
    const { entries } = await recordedRun()
    const cut = replay(entries.slice(0, 2))
    expect(cut.status).toBe('running')
    expect(cut.ending).toBeUndefined()
    expect(cut.entries.at(-1)).toMatchObject({ step: 1, state: 'executingTools' })
  })

  it('shows a run that waits for a person, and what it went on with', async () => {
    const ask = defineTool({
      name: 'ask',
      description: 'Needs a person.',
      input: z.object({}),
      needsApproval: true,
      run: () => 'asked',
    })
    const journal = memoryJournal()
    const model = scriptedModel([{ calls: [{ name: 'ask', id: 'q' }] }, 'ok'])
    const agent = createAgent({ model, tools: [ask], journal })
    await agent.run('go', { runId: 'r' })
    expect(await agent.replay('r')).toMatchObject({ status: 'waiting' })
    await agent.resume('r', { decisions: [{ callId: 'q', approved: true }] })
    const { status, entries } = await agent.replay('r')
    expect(status).toBe('done')
    expect(
      entries.find(({ entry }) => entry.type === 'event' && entry.event.type === 'decided'),
    ).toMatchObject({
      state: 'executingTools',
    })
  })

  it('tells of the compactions and limits that there were, whatever the agent would do today', async () => {
    const add: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
    const memory: Memory = {
      view: turns(6).view,
      needsCompaction: ({ length }) => length === 3,
      compact: async () => ({ state: 'short' }),
    }
    const journal = memoryJournal()
    const agent = createAgent({
      model: scriptedModel([add, add, 'closing']),
      tools: [countingAdd()],
      memory,
      journal,
      limits: { steps: 2 },
    })
    await agent.run('go', { runId: 'r' })
    const other = createAgent({ model: untouchable(), memory: turns(1), journal })
    const states = (await other.replay('r')).entries.map(({ state }) => state)
    expect(states).toContain('observing.compacting')
    expect(states).toContain('concluding.calling')
    expect(states.at(-1)).toBe('done')
    // The same without any agent.
    expect(replay(await entriesOf(journal)).entries.map(({ state }) => state)).toEqual(states)
  })

  it('tells of limits of the agent’s own and of time without knowing them', async () => {
    vi.useFakeTimers()
    const add: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
    const enough: CustomLimit = () => ({ reaction: 'conclude', evidence: 'enough' })
    for (const options of [
      { model: scriptedModel([add, 'closing']), customLimits: { enough } },
      { model: scriptedModel([add, HANG, 'closing']), limits: { time: 10_000 } },
    ]) {
      const journal = memoryJournal()
      const running = createAgent({ ...options, tools: [countingAdd()], journal }).run('go', { runId: 'r' })
      await vi.advanceTimersByTimeAsync(10_000)
      expect((await running).status).toBe('done')
      const { entries, ending } = replay(await entriesOf(journal))
      expect(entries.map(({ state }) => state)).toContain('concluding.calling')
      expect(ending).toMatchObject({ status: 'done', output: 'closing' })
    }
    vi.useRealTimers()
  })

  it('shows what limits warned of', async () => {
    const add: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
    const { entries } = await recordedRun([add, add, 'ok'])
    const warned = replay(entries).entries.filter(({ warnings }) => warnings.length > 0)
    expect(warned).toMatchObject([{ warnings: [{ limit: 'repeats' }] }])
  })

  it('tells of what was being done when the run was stopped, whoever looks back', async () => {
    const memory: Memory = {
      view: turns(6).view,
      needsCompaction: ({ length }) => length === 3,
      compact: () => new Promise(() => {}),
    }
    const add: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
    const controller = new AbortController()
    const agent = createAgent({
      model: scriptedModel([add]),
      tools: [countingAdd()],
      memory,
      journal: memoryJournal(),
    })
    await agent.run('go', {
      runId: 'r',
      signal: controller.signal,
      onEvent: ({ type }) => type === 'compaction.started' && controller.abort(),
    })
    const { entries } = await agent.replay('r')
    expect(entries.slice(-3).map(({ state }) => state)).toEqual([
      'observing.compacting',
      'aborted',
      'aborted',
    ])
    const alone = replay(entries.map(({ entry }) => entry))
    expect(alone.entries.map(({ state }) => state)).toEqual(entries.map(({ state }) => state))
    expect(alone.ending).toMatchObject({ status: 'aborted', reason: 'cancelled', steps: 1 })
  })

  it.each<[string, Partial<Limits>, readonly ScriptedStep[]]>([
    ['before it was asked', {}, [tooLong]],
    ['when the time was over', { time: { abort: 1000 } }, [tooLong]],
    ['when it had to conclude', { time: { conclude: 1000, abort: 60_000 } }, [tooLong, 'closing']],
    ['before its closing call', { steps: 1, time: { abort: 1000 } }, [{ calls: [{ name: 'no' }] }, tooLong]],
  ])('tells of room that was made after the model found it too long, %s', async (_when, limits, script) => {
    vi.useFakeTimers()
    const compacting = Promise.withResolvers<void>()
    const memory: Memory = {
      view: (transcript) => transcript,
      compact: (_transcript, _state, { signal }) => {
        compacting.resolve()
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      },
    }
    const journal = memoryJournal()
    const agent = createAgent({ model: scriptedModel(script), memory, journal, limits })
    const stop = new AbortController()
    const running = agent.run('go', { runId: 'r', signal: stop.signal })
    await compacting.promise
    if (limits.time === undefined) stop.abort()
    else await vi.advanceTimersByTimeAsync(1000)
    const outcome = await running
    const entries = await entriesOf(journal)
    const told = [replay(entries), await createAgent({ model: scriptedModel([]), journal }).replay('r')]
    for (const { ending } of told) {
      expect(ending?.status).toBe(outcome.status)
      expect(ending).toMatchObject(
        outcome.status === 'aborted' ? { reason: outcome.reason } : { output: 'closing' },
      )
      expect(ending?.steps).toBe(outcome.steps)
      expect(ending?.transcript).toEqual(outcome.transcript)
    }
    // Wherever its process died, what is left can be told.
    for (let length = 1; length <= entries.length; length++) replay(entries.slice(0, length))
  })

  it('tells of a run whose process died before it made room, and that was stopped after', async () => {
    const failed: JournalEntry = {
      type: 'event',
      at: 2,
      event: { type: 'failed', place: 'model.1.1', error: describeError(tooLong) },
    }
    const started: JournalEntry = { type: 'started', version: 1, at: 1, input: { messages: 'go' } }
    const journal = await journalOf([started, failed])
    const memory: Memory = { view: (transcript) => transcript, compact: async () => ({ state: {} }) }
    const agent = createAgent({ model: untouchable(), memory, journal })
    const stopped = expectAborted(await agent.resume('r', { signal: AbortSignal.abort() }))
    const { ending } = replay(await entriesOf(journal))
    expect(ending).toMatchObject({ status: 'aborted', reason: 'cancelled', steps: stopped.steps })
  })

  it('says what is wrong with what is no journal', async () => {
    const { entries } = await recordedRun()
    expect(() => replay([])).toThrow('does not begin with "started"')
    expect(() => replay(entries.slice(1))).toThrow('does not begin with "started"')
    expect(() => replay(entries.toSpliced(1, 1), { runId: 'r' })).toThrow(
      expect.objectContaining({
        code: 'journal_mismatch',
        message: expect.stringContaining('tells of the beginning of tool.1.0 at position 1'),
      }),
    )
    const agent = createAgent({ model: untouchable() })
    await expect(agent.replay('r')).rejects.toMatchObject({ code: 'no_journal' })
    const kept = createAgent({ model: untouchable(), journal: memoryJournal() })
    await expect(kept.replay('r')).rejects.toMatchObject({ code: 'run_not_found' })
  })
})
