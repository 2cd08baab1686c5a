import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createActor, waitFor } from 'xstate'
import { z } from 'zod'
import { createAgent, defineTool, type Journal, memoryJournal, type Tool } from '../../../src/index.ts'
import { type ScriptedStep, scriptedModel } from '../../../src/testing/index.ts'
import { expectAborted, expectDone, expectSendable } from '../../support/outcome.ts'
import { countingAdd, deaf } from '../../support/tools.ts'

const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
/** Never answers, until it is told to stop. */
const HANG: ScriptedStep = (_request, { signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
const callDeaf: ScriptedStep = { calls: [{ name: 'deaf' }] }

/** Takes so long for each call. */
const slow = (ms: number): Tool =>
  defineTool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({ n: z.number() }),
    run: ({ n }) => new Promise((resolve) => setTimeout(() => resolve(`result ${n}`), ms)),
  })
const callSlow = (n: number): ScriptedStep => ({ calls: [{ name: 'slow', arguments: { n } }] })

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  expect(vi.getTimerCount(), 'timers that were left').toBe(0)
  vi.useRealTimers()
})

describe('the limit of time', () => {
  it('gives up a tool that hangs when four fifths are over, and concludes with the rest', async () => {
    const model = scriptedModel([callDeaf, 'What I know.'])
    const running = createAgent({ model, tools: [deaf()], limits: { time: 10_000 } }).run('go')
    await vi.advanceTimersByTimeAsync(7999)
    expect(model.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    const outcome = expectDone(await running)
    expect(outcome.output).toBe('What I know.')
    expect(outcome.stoppedBy).toEqual({
      limit: 'time',
      max: 8000,
      reaction: 'conclude',
      evidence: 'the run was under way for 8000 ms',
    })
    expect(outcome.transcript[2]?.content).toContain('Error (cancelled)')
    expect(outcome.toolCalls).toEqual({ total: 1, failed: 1 })
    expectSendable(outcome)
  })

  it('gives up a model that hangs, and aborts when the closing call hangs too', async () => {
    const model = scriptedModel([HANG, HANG])
    const running = createAgent({ model, limits: { time: 10_000 } }).run('go')
    await vi.advanceTimersByTimeAsync(9999)
    expect(model.requests).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1)
    const outcome = expectAborted(await running)
    expect(outcome).toMatchObject({
      reason: 'timeout',
      stoppedBy: { limit: 'time', max: 10_000, reaction: 'abort' },
      message: 'the run was under way for 10000 ms',
    })
    expectSendable(outcome)
  })

  it('keeps at most 30 s for the closing answer', async () => {
    const model = scriptedModel([HANG, 'in time'])
    const running = createAgent({ model, limits: { time: 600_000 } }).run('go')
    await vi.advanceTimersByTimeAsync(570_000)
    expect(expectDone(await running).stoppedBy?.max).toBe(570_000)
  })

  it('ends a wait for the next attempt', async () => {
    const busy = Object.assign(new Error('busy'), { retryable: true, retryAfterMs: 30_000 })
    const running = createAgent({ model: scriptedModel([busy, 'closing']), limits: { time: 1000 } }).run('go')
    await vi.advanceTimersByTimeAsync(800)
    expect(expectDone(await running).stoppedBy?.limit).toBe('time')
  })

  it('is judged after each step, too, and begins no step for which it is too late', async () => {
    // The clock goes on while nothing gives the timer its turn, as when a tool blocks the process.
    const blocking = defineTool({
      name: 'block',
      description: 'Blocks.',
      input: z.object({}),
      run: () => {
        vi.setSystemTime(Date.now() + 9000)
        return 'result'
      },
    })
    const model = scriptedModel([{ calls: [{ name: 'block' }] }, 'closing'])
    const outcome = expectDone(
      await createAgent({ model, tools: [blocking], limits: { time: 10_000 } }).run('go'),
    )
    expect(model.requests[1]?.toolChoice).toBe('none')
    expect(outcome.stoppedBy).toMatchObject({ limit: 'time', evidence: 'the run had taken 9000 ms' })
  })

  it('holds where the clock is put back meanwhile', async () => {
    const running = createAgent({ model: scriptedModel([HANG]), limits: { time: { abort: 500 } } }).run('go')
    await vi.advanceTimersByTimeAsync(100)
    vi.setSystemTime(Date.now() - 3_600_000)
    await vi.advanceTimersByTimeAsync(400)
    expect(expectAborted(await running).stoppedBy).toMatchObject({ limit: 'time', max: 500 })
  })

  it('can be set to abort only', async () => {
    const running = createAgent({ model: scriptedModel([HANG]), limits: { time: { abort: 500 } } }).run('go')
    await vi.advanceTimersByTimeAsync(500)
    expect(expectAborted(await running).stoppedBy).toMatchObject({ limit: 'time', max: 500 })
  })

  it('can warn', async () => {
    const model = scriptedModel([callSlow(1), callSlow(2), 'in time'])
    const running = createAgent({
      model,
      tools: [slow(300)],
      limits: { time: { warn: 500, abort: 5000 } },
    }).run('go')
    await vi.advanceTimersByTimeAsync(600)
    expectDone(await running)
    expect(model.requests[1]?.messages.at(-1)?.role).toBe('tool')
    expect(model.requests[2]?.messages.at(-1)?.content).toContain('Little time is left')
  })

  it('of more than a timer can hold does not fire at once', async () => {
    const month = 30 * 24 * 3600 * 1000
    // A model call is given up after some 24.8 days at the latest, and tried again.
    const options = { modelTimeoutMs: Number.POSITIVE_INFINITY, limits: { time: { abort: month } } }
    const running = createAgent({ model: scriptedModel([HANG, HANG]), ...options }).run('go')
    await vi.advanceTimersByTimeAsync(month - 1)
    expect(vi.getTimerCount()).toBeGreaterThan(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(expectAborted(await running).reason).toBe('timeout')
  })

  it('holds for a live machine', async () => {
    const { machine } = createAgent({
      model: scriptedModel([callDeaf, 'closing']),
      tools: [deaf()],
      limits: { time: 1000 },
    })
    const actor = createActor(machine, { input: 'go' }).start()
    await vi.advanceTimersByTimeAsync(799)
    expect(actor.getSnapshot().value).toBe('executingTools')
    await vi.advanceTimersByTimeAsync(1)
    const { output } = await waitFor(actor, ({ status }) => status === 'done')
    expect(output).toMatchObject({ status: 'done', output: 'closing', stoppedBy: { limit: 'time' } })
  })
})

describe('time over a crash', () => {
  /** What a process leaves behind that dies after so many milliseconds. */
  async function crashed(steps: readonly ScriptedStep[], tools: readonly Tool[], afterMs: number) {
    const kept = memoryJournal()
    let isDead = false
    const journal: Journal = {
      ...kept,
      append: (...appended) => (isDead ? new Promise(() => {}) : kept.append(...appended)),
    }
    const controller = new AbortController()
    const agent = createAgent({
      model: scriptedModel(steps),
      tools,
      journal,
      limits: { time: 10_000 },
      runApprovedFirst: true,
    })
    const running = agent.run('go', { runId: 'r', signal: controller.signal })
    await vi.advanceTimersByTimeAsync(afterMs)
    isDead = true
    controller.abort()
    await vi.advanceTimersByTimeAsync(1000)
    await running
    return kept
  }

  it('goes on to count from the start of the run', async () => {
    const journal = await crashed([callDeaf], [deaf()], 3000)
    const agent = createAgent({ model: scriptedModel([HANG, 'closing']), tools: [deaf()], journal })
    const resuming = agent.resume('r')
    await vi.advanceTimersByTimeAsync(3999)
    expect((await journal.load('r'))?.at(-1)?.type).toBe('event')
    await vi.advanceTimersByTimeAsync(1)
    expect(expectDone(await resuming).stoppedBy).toMatchObject({ limit: 'time', max: 8000 })
  })

  it('that is over when the run is resumed ends it at once', async () => {
    const journal = await crashed([callDeaf], [deaf()], 3000)
    await vi.advanceTimersByTimeAsync(60_000)
    const model = scriptedModel([HANG])
    const resuming = createAgent({ model, tools: [deaf()], journal }).resume('r')
    await vi.advanceTimersByTimeAsync(0)
    expect(expectAborted(await resuming)).toMatchObject({ reason: 'timeout', stoppedBy: { limit: 'time' } })
  })

  it('that is over for work when the run is resumed leaves only the closing call to begin', async () => {
    const journal = await crashed([HANG], [], 3000)
    await vi.advanceTimersByTimeAsync(5000)
    const model = scriptedModel(['closing'])
    const outcome = expectDone(await createAgent({ model, journal }).resume('r'))
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['none'])
    expect(outcome).toMatchObject({ output: 'closing', stoppedBy: { limit: 'time' } })
  })

  it('that is over when the run is resumed begins no call at all', async () => {
    const journal = await crashed([HANG], [], 3000)
    await vi.advanceTimersByTimeAsync(60_000)
    const model = scriptedModel([])
    expect(expectAborted(await createAgent({ model, journal }).resume('r')).reason).toBe('timeout')
    expect(model.requests).toEqual([])
  })

  it('that is over for work runs no idempotent tool again', async () => {
    const hanging = { ...deaf('add'), idempotent: true }
    const journal = await crashed([adding], [hanging], 3000)
    await vi.advanceTimersByTimeAsync(5000)
    const add = countingAdd({ idempotent: true })
    const model = scriptedModel(['closing'])
    const outcome = expectDone(await createAgent({ model, tools: [add], journal }).resume('r'))
    expect(add.runs).toEqual([])
    expect(outcome.stoppedBy?.limit).toBe('time')
    expectSendable(outcome)
  })

  it('that is over for work does not hide that a call is in doubt', async () => {
    const journal = await crashed([callDeaf], [deaf()], 3000)
    await vi.advanceTimersByTimeAsync(5000)
    const model = scriptedModel(['closing'])
    const outcome = expectDone(await createAgent({ model, tools: [deaf()], journal }).resume('r'))
    expect(outcome.transcript[2]?.content).toContain('Error (in_doubt)')
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['none'])
  })

  it('that is over for work begins no call that a person has just approved', async () => {
    const pay = { ...countingAdd(), name: 'pay', needsApproval: true }
    const steps: ScriptedStep[] = [
      { calls: [{ name: 'deaf' }, { name: 'pay', arguments: { a: 1, b: 2 }, id: 'p' }] },
    ]
    const journal = await crashed(steps, [deaf(), pay], 3000)
    await vi.advanceTimersByTimeAsync(5000)
    const decisions = [{ callId: 'p', approved: true }]
    const agent = createAgent({ model: scriptedModel(['closing']), tools: [deaf(), pay], journal })
    expect(expectDone(await agent.resume('r', { decisions })).stoppedBy?.limit).toBe('time')
    expect(pay.runs).toEqual([])
  })

  it('comes to the same on a replay, whatever the time is then', async () => {
    const journal = memoryJournal()
    const make = (steps: readonly ScriptedStep[]) =>
      createAgent({ model: scriptedModel(steps), tools: [slow(300)], journal, limits: { time: 2000 } })
    const running = make([callSlow(1), callSlow(2), 'done']).run('go', { runId: 'r' })
    await vi.advanceTimersByTimeAsync(600)
    const { durationMs: _ms, ...outcome } = await running
    await vi.advanceTimersByTimeAsync(3_600_000)
    const { durationMs: _again, ...replayed } = await make([]).resume('r')
    expect(replayed).toEqual(outcome)
  })
})

describe('time in which a person decides', () => {
  it('does not count, however long it takes', async () => {
    const journal = memoryJournal()
    const add = countingAdd()
    const tools = [{ ...add, needsApproval: true }]
    const make = (steps: readonly ScriptedStep[]) =>
      createAgent({ model: scriptedModel(steps), tools, journal, limits: { time: 10_000 } })
    const waiting = await make([adding]).run('go', { runId: 'r' })
    if (waiting.status !== 'waiting') throw new Error(waiting.status)
    await vi.advanceTimersByTimeAsync(24 * 3600 * 1000)
    const decisions = waiting.approvals.map(({ callId }) => ({ callId, approved: true }))
    const outcome = expectDone(await make(['It is 3.']).resume('r', { decisions }))
    expect(outcome).toMatchObject({ output: 'It is 3.', toolCalls: { total: 1 } })
    expect(outcome.stoppedBy).toBeUndefined()
    expect(add.runs).toHaveLength(1)
  })
})
