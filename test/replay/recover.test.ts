import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  createAgent,
  type Journal,
  type JournalEntry,
  memoryJournal,
  type RecoveredRun,
} from '../../src/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { journalThat } from '../support/journals.ts'
import { expectDone } from '../support/outcome.ts'
import { countingAdd, returning } from '../support/tools.ts'
import { entriesOf } from './support.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** A journal with runs whose process died before the model answered. */
async function leftRunning(runIds: readonly string[], name?: string): Promise<Journal> {
  const journal = memoryJournal()
  for (const [i, runId] of runIds.entries()) {
    const at = 1000 + i
    const agent = { loopchart: '0', model: 'm', tools: {}, ...(name === undefined ? {} : { name }) }
    const started: JournalEntry = { type: 'started', version: 1, at, input: { messages: runId }, agent }
    await journal.append(runId, [started], 0)
  }
  return journal
}

const idsOf = (runs: readonly RecoveredRun[]): readonly string[] => runs.map(({ runId }) => runId)

describe('recover', () => {
  it('takes up all runs that were left running, the oldest first, and says what became of them', async () => {
    const journal = await leftRunning(['a', 'b', 'c'])
    const model = scriptedModel(['one', 'two', 'three'])
    const agent = createAgent({ model, journal })
    const told: RecoveredRun[] = []
    const runs = await agent.recover({ concurrency: 1, onOutcome: (run) => told.push(run) })
    expect(runs).toMatchObject([
      { runId: 'a', outcome: { status: 'done', output: 'one' } },
      { runId: 'b', outcome: { status: 'done', output: 'two' } },
      { runId: 'c', outcome: { status: 'done', output: 'three' } },
    ])
    expect(told).toEqual(runs)
    expect(await agent.recover()).toEqual([])
  })

  it('leaves runs that have ended or wait for a person', async () => {
    const journal = memoryJournal()
    const approve = { ...countingAdd(), needsApproval: true }
    const calls: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
    const agent = createAgent({ model: scriptedModel(['done', calls]), tools: [approve], journal })
    await agent.run('go')
    await agent.run('go')
    expect(await agent.recover()).toEqual([])
  })

  it('runs no more at once than it is told', async () => {
    const journal = await leftRunning(['a', 'b', 'c', 'd', 'e'])
    let [now, most] = [0, 0]
    const slow: ScriptedStep = async () => {
      most = Math.max(most, ++now)
      await new Promise(setImmediate)
      now--
      return 'ok'
    }
    const agent = createAgent({ model: scriptedModel(Array<ScriptedStep>(5).fill(slow)), journal })
    expect(await agent.recover({ concurrency: 2 })).toHaveLength(5)
    expect(most).toBe(2)
    await expect(agent.recover({ concurrency: 0 })).rejects.toMatchObject({ code: 'invalid_option' })
  })

  it('finds them on all pages of the list', async () => {
    const runIds = Array.from({ length: 250 }, (_, i) => `run-${i}`)
    const journal = await leftRunning(runIds)
    const model = scriptedModel(Array<ScriptedStep>(250).fill('ok'))
    const runs = await createAgent({ model, journal }).recover({ concurrency: 1 })
    expect(idsOf(runs)).toEqual(runIds)
  })

  it('goes on past a run that cannot be taken up, and past an onOutcome that throws', async () => {
    const journal = await leftRunning(['a', 'b'])
    const stray: JournalEntry = {
      type: 'event',
      at: 0,
      event: { type: 'settled', place: 'tool.9.9', output: {} },
    }
    await journal.append('a', [stray], 1)
    const warnings: unknown[] = []
    const warn = (warning: Error): void => void warnings.push(warning.message)
    process.on('warning', warn)
    const agent = createAgent({ model: scriptedModel(['ok']), journal })
    const runs = await agent.recover({
      concurrency: 1,
      onOutcome: () => {
        throw new Error('watcher broke')
      },
    })
    await new Promise(setImmediate)
    process.off('warning', warn)
    expect(runs).toMatchObject([
      { runId: 'a', error: { code: 'journal_mismatch' } },
      { runId: 'b', outcome: { status: 'done' } },
    ])
    expect(warnings).toContain('onOutcome threw on run "b": watcher broke')
  })

  it('leaves the runs of agents with other names', async () => {
    const journal = await leftRunning(['a', 'b'], 'support')
    const other = createAgent({ model: scriptedModel([]), journal, name: 'billing' })
    expect(await other.recover()).toEqual([])
    expect(await createAgent({ model: scriptedModel([]), journal }).recover()).toEqual([])
    const own = createAgent({ model: scriptedModel(['ok', 'ok']), journal, name: 'support' })
    expect(idsOf(await own.recover({ concurrency: 1 }))).toEqual(['a', 'b'])
  })

  it('waits until the lease of a process that died must have run out', async () => {
    vi.useFakeTimers()
    const journal = await leftRunning(['a'])
    await journal.lease('a', 'the dead', 30_000)
    const agent = createAgent({ model: scriptedModel(['ok']), journal })
    const recovering = agent.recover()
    await vi.advanceTimersByTimeAsync(29_000)
    expect((await entriesOf(journal, 'a')).length).toBe(1)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(idsOf(await recovering)).toEqual(['a'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('leaves a run that another process is at work on', async () => {
    vi.useFakeTimers()
    const journal = memoryJournal()
    const busy = createAgent({ model: scriptedModel([HANG]), journal })
    const controller = new AbortController()
    const running = busy.run('go', { runId: 'a', signal: controller.signal })
    await vi.advanceTimersByTimeAsync(0)
    const recovering = createAgent({ model: scriptedModel([]), journal }).recover()
    await vi.advanceTimersByTimeAsync(120_000)
    expect(await recovering).toEqual([])
    controller.abort()
    expect((await running).status).toBe('aborted')
  })

  it('passes on how runs are to be taken up', async () => {
    const journal = await leftRunning(['a'])
    const reply = {
      text: '',
      toolCalls: [],
      finish: 'tool_calls',
      message: { role: 'assistant', content: null },
    }
    const call = { id: 'x', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }
    const usage = { inputTokens: 1, cachedTokens: 0, outputTokens: 1, reasoningTokens: 0 }
    const output = { reply: { ...reply, usage, toolCalls: [call] }, needsApproval: [] }
    await journal.append(
      'a',
      [
        { type: 'event', at: 1, event: { type: 'settled', place: 'model.1.1', output } },
        { type: 'intent', at: 1, place: 'tool.1.0' },
      ],
      1,
    )
    const agent = createAgent({ model: scriptedModel([]), tools: [countingAdd()], journal })
    expect(await agent.recover({ inDoubt: 'ask' })).toMatchObject([
      { runId: 'a', outcome: { status: 'waiting', approvals: [{ callId: 'x', inDoubt: true }] } },
    ])
  })

  it('says so where the runs cannot be listed, or there is no journal', async () => {
    const broken = journalThat({
      list: () => {
        throw new Error('database is locked')
      },
    })
    const agent = createAgent({ model: scriptedModel([]), journal: broken })
    await expect(agent.recover()).rejects.toMatchObject({
      code: 'journal_error',
      message: 'The runs cannot be listed: database is locked',
    })
    const none = createAgent({ model: scriptedModel([]) })
    await expect(none.recover()).rejects.toMatchObject({ code: 'no_journal' })
  })

  it('begins no further run once its signal is aborted, or the agent is closed', async () => {
    for (const stop of ['signal', 'close'] as const) {
      const journal = await leftRunning(['a', 'b'])
      const controller = new AbortController()
      const agent = createAgent({ model: scriptedModel(['one']), journal })
      const runs = await agent.recover({
        concurrency: 1,
        signal: controller.signal,
        onOutcome: () => void (stop === 'signal' ? controller.abort() : agent.close()),
      })
      expect(idsOf(runs)).toEqual(['a'])
    }
  })
})

describe('the lease on a run', () => {
  it('is taken when it begins, renewed while it lasts, and released when it ends', async () => {
    vi.useFakeTimers()
    const told: string[] = []
    const kept = memoryJournal()
    const journal = journalThat({
      ...kept,
      lease: (runId, owner, ttlMs) => {
        told.push(`lease ${runId} ${ttlMs}`)
        return kept.lease(runId, owner, ttlMs)
      },
      release: (runId, owner) => {
        told.push(`release ${runId}`)
        return kept.release(runId, owner)
      },
    })
    const answered = Promise.withResolvers<string>()
    const agent = createAgent({ model: scriptedModel([() => answered.promise]), journal, leaseMs: 3000 })
    const running = agent.run('go', { runId: 'r' })
    await vi.advanceTimersByTimeAsync(0)
    expect(told).toEqual(['lease r 3000'])
    expect(await kept.lease('r', 'somebody else', 1000)).toBe(false)
    await vi.advanceTimersByTimeAsync(2000)
    expect(told).toEqual(['lease r 3000', 'lease r 3000', 'lease r 3000'])
    answered.resolve('ok')
    expectDone(await running)
    await vi.advanceTimersByTimeAsync(0)
    expect(told.at(-1)).toBe('release r')
    expect(await kept.lease('r', 'somebody else', 1000)).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is not given up for a run that has been taken up again meanwhile', async () => {
    const first = Promise.withResolvers<boolean>()
    const told: string[] = []
    const kept = memoryJournal()
    const journal = journalThat({
      ...kept,
      lease: () => (told.push('lease') === 1 ? first.promise : true),
      release: () => void told.push('release'),
    })
    const approve = { ...countingAdd(), needsApproval: true }
    const calls: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 }, id: 'x' }] }
    const agent = createAgent({ model: scriptedModel([calls, HANG]), tools: [approve], journal })
    await agent.run('go', { runId: 'r' })
    const controller = new AbortController()
    const decisions = [{ callId: 'x', approved: true }]
    const resumed = agent.resume('r', { decisions, signal: controller.signal })
    await vi.waitFor(() => expect(told).toEqual(['lease', 'lease']))
    first.resolve(true)
    await new Promise(setImmediate)
    expect(told).toEqual(['lease', 'lease'])
    controller.abort()
    await resumed
    await vi.waitFor(() => expect(told.at(-1)).toBe('release'))
  })

  it('is left to run out where the store has failed, which is not asked for more', async () => {
    vi.useFakeTimers()
    const told: string[] = []
    const journal = journalThat({
      append: () => {
        throw new Error('disk full')
      },
      lease: () => told.push('lease') > 0,
      release: () => void told.push('release'),
    })
    const outcome = await createAgent({ model: scriptedModel([]), journal }).run('go')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(outcome).toMatchObject({ reason: 'journal_error' })
    expect(told).toEqual(['lease'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('stands in nobody’s way where the store cannot keep it', async () => {
    const fails = (): never => {
      throw new Error('no such table')
    }
    for (const journal of [
      journalThat({ lease: fails, release: fails }),
      journalThat({ lease: () => new Promise(() => {}), release: () => new Promise(() => {}) }),
    ]) {
      expectDone(await createAgent({ model: scriptedModel(['ok']), journal }).run('go'))
    }
  })

  it('lets resume take the run away from who has it, unless that is not wanted', async () => {
    const journal = memoryJournal()
    const tool = Promise.withResolvers<string>()
    const calls: ScriptedStep = { calls: [{ name: 'slow' }] }
    const first = createAgent({
      model: scriptedModel([calls, 'late']),
      tools: [returning(tool.promise, 'slow')],
      journal,
    })
    const lost = first.run('go', { runId: 'r' })
    await vi.waitFor(async () => expect((await entriesOf(journal)).at(-1)?.type).toBe('intent'))
    const elsewhere = journalThat(journal)
    const second = createAgent({ model: scriptedModel(['taken']), journal: elsewhere })
    await expect(second.resume('r', { takeOver: false })).rejects.toMatchObject({ code: 'run_active' })
    expect(expectDone(await second.resume('r')).output).toBe('taken')
    tool.resolve('too late')
    expect(await lost).toMatchObject({
      status: 'aborted',
      reason: 'journal_error',
      error: { code: 'run_lost' },
    })
  })

  it('is taken with the run from a process that died, so that nobody recovers what goes on here', async () => {
    const journal = await leftRunning(['r'])
    await journal.lease('r', 'a process that died', 1000)
    const answered = Promise.withResolvers<string>()
    const model = scriptedModel([() => answered.promise])
    const resumed = createAgent({ model, journal, leaseMs: 30_000 }).resume('r')
    await vi.waitFor(() => expect(model.requests).toHaveLength(1))
    expect(await journal.lease('r', 'a process that died', 1000)).toBe(false)
    answered.resolve('ok')
    expectDone(await resumed)
  })

  it('stays with who won the run, whoever else tried', async () => {
    const journal = await leftRunning(['r'])
    const answered = Promise.withResolvers<string>()
    const agents = [0, 1].map(() =>
      createAgent({ model: scriptedModel([() => answered.promise]), journal: journalThat(journal) }),
    )
    const resumed = agents.map((agent) => agent.resume('r'))
    await expect(
      Promise.any(resumed.map((run) => run.then(Promise.reject.bind(Promise), ({ code }) => code))),
    ).resolves.toBe('run_active')
    expect(await journal.lease('r', 'somebody else', 1000)).toBe(false)
    answered.resolve('ok')
    const settled = await Promise.allSettled(resumed)
    expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })
})

describe('two processes that recover at once', () => {
  it('each tell of what they did themselves', async () => {
    const journal = await leftRunning(['a', 'b', 'c'])
    const told = await Promise.all(
      [0, 1].map(() => {
        const model = scriptedModel(['one', 'two', 'three'])
        return createAgent({ model, journal: journalThat(journal), leaseMs: 100 }).recover({ concurrency: 1 })
      }),
    )
    expect(told.flatMap(idsOf).sort()).toEqual(['a', 'b', 'c'])
  })

  it('say nothing of a run that goes on in a process of another version', async () => {
    const kept = memoryJournal()
    const answered = Promise.withResolvers<string>()
    const calls: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
    const model = scriptedModel([calls, () => answered.promise])
    const old = createAgent({ model, tools: [countingAdd()], journal: kept, leaseMs: 100 })
    const running = old.run('go', { runId: 'r' })
    await vi.waitFor(() => expect(model.requests).toHaveLength(2))
    const ended = createAgent({
      model: scriptedModel([]),
      tools: [countingAdd()],
      journal: journalThat(kept),
      customLimits: { none: ({ steps }) => (steps > 0 ? { reaction: 'abort', evidence: 'no' } : undefined) },
      leaseMs: 100,
    })
    expect(await ended.recover()).toEqual([])
    answered.resolve('ok')
    expectDone(await running)
  })
})
