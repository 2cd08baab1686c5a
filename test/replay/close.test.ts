import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  createAgent,
  defineTool,
  type Journal,
  type JournalEntry,
  ModelError,
  memoryJournal,
  memorySessions,
  type Tool,
} from '../../src/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { journalOf, journalThat } from '../support/journals.ts'
import { expectAborted, expectDone, expectSendable, rejectionOf } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'
import { entriesOf, settledPlaces } from './support.ts'

afterEach(() => {
  vi.useRealTimers()
})

const started: JournalEntry = { type: 'started', version: 1, at: 1, input: { messages: 'go' } }
const add: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }

/** A model whose first call is answered when the test says so, and says when it is asked. */
function heldModel(steps: readonly ScriptedStep[]) {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<ScriptedStep>()
  const held: ScriptedStep = () => {
    asked.resolve()
    return answer.promise
  }
  return { model: scriptedModel([held, ...steps]), asked: asked.promise, answer: answer.resolve }
}

/** A tool that never settles, and its signal. */
function hanging() {
  const begun = Promise.withResolvers<AbortSignal>()
  const tool: Tool = defineTool({
    name: 'hang',
    description: 'Hangs.',
    input: z.object({}),
    run: (_args, { signal }) => {
      begun.resolve(signal)
      return new Promise(() => {})
    },
  })
  return { tool, begun: begun.promise }
}

async function summaryOf(journal: Journal, runId = 'r') {
  return (await journal.list()).find((run) => run.runId === runId)
}

describe('an agent that is closed', () => {
  it('is closed at once where nothing is under way', async () => {
    expect(await createAgent({ model: scriptedModel([]) }).close()).toEqual({ interrupted: [] })
  })

  it('takes no more runs', async () => {
    const journal = memoryJournal()
    const agent = createAgent({ model: scriptedModel(['ok']), journal })
    await agent.run('go', { runId: 'r' })
    expect(await agent.close()).toEqual({ interrupted: [] })
    const stream = agent.stream('go')
    for (const refused of [
      agent.run('go'),
      stream.outcome,
      agent.resume('r'),
      agent.fork('r', { at: 1 }),
      agent.session('s').run('go'),
    ]) {
      expect(await rejectionOf(refused)).toMatchObject({ code: 'agent_closed' })
    }
    expect(await journal.list()).toHaveLength(1)
    // Looking back harms nobody.
    expect((await agent.replay('r')).status).toBe('done')
    expect(await agent.session('s').messages()).toEqual([])
  })

  it('lets a run finish its step, tools included, and leaves the rest to another process', async () => {
    const journal = memoryJournal()
    const tool = countingAdd()
    const { model, asked, answer } = heldModel([])
    const agent = createAgent({ model, tools: [tool], journal })
    const running = agent.run('go', { runId: 'r' })
    await asked
    const closing = agent.close()
    answer(add)
    const outcome = expectAborted(await running)
    expect(outcome).toMatchObject({ reason: 'interrupted', steps: 2 })
    expect(outcome.message).toContain('agent.resume goes on with it')
    expect(await closing).toEqual({ interrupted: ['r'] })
    expect(tool.runs).toHaveLength(1)
    expectSendable(outcome)

    expect(settledPlaces(await entriesOf(journal))).toEqual(['model.1.1', 'tool.1.0'])
    expect(await summaryOf(journal)).toMatchObject({ status: 'running' })
    const next = createAgent({ model: scriptedModel(['three']), tools: [tool], journal })
    // The lease was given up, so nobody has to wait for it.
    expect(await next.recover()).toMatchObject([{ runId: 'r', outcome: { output: 'three' } }])
    expect(tool.runs).toHaveLength(1)
  })

  it('lets a run end whose last step is under way', async () => {
    const { model, asked, answer } = heldModel([])
    const agent = createAgent({ model, journal: memoryJournal() })
    const running = agent.run('go')
    await asked
    const closing = agent.close()
    answer('the answer')
    expect(expectDone(await running).output).toBe('the answer')
    expect(await closing).toEqual({ interrupted: [] })
  })

  it('gives up what hangs when time is over: a tool is in doubt, a model is asked again', async () => {
    vi.useFakeTimers()
    const journal = memoryJournal()
    const { tool, begun } = hanging()
    const agent = createAgent({
      model: scriptedModel([{ calls: [{ name: 'hang' }] }, HANG]),
      tools: [tool],
      journal,
    })
    const [first, second] = [agent.run('go', { runId: 'tool' }), agent.run('go', { runId: 'model' })]
    const signal = await begun
    const closing = agent.close({ timeoutMs: 5000 })
    await vi.advanceTimersByTimeAsync(4999)
    expect(signal.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(signal.aborted).toBe(true)
    for (const running of [first, second]) {
      const outcome = expectAborted(await running)
      expect(outcome.reason).toBe('interrupted')
      expectSendable(outcome)
    }
    expect((await closing).interrupted.toSorted()).toEqual(['model', 'tool'])
    expect(vi.getTimerCount()).toBe(0)
    vi.useRealTimers()

    const next = createAgent({ model: scriptedModel(['a', 'b']), tools: [tool], journal })
    const resumed = expectDone(await next.resume('tool'))
    expect(resumed.transcript[2]?.content).toContain('Error (in_doubt)')
    expect(expectDone(await next.resume('model')).transcript).toHaveLength(2)
  })

  it('does not wait for a back-off, which goes on elsewhere', async () => {
    // The time stands still.
    vi.useFakeTimers()
    const journal = memoryJournal()
    const busy = new ModelError('overloaded', 'busy', { retryable: true, retryAfterMs: 25_000 })
    const agent = createAgent({ model: scriptedModel([busy]), journal })
    const run = agent.stream('go', { runId: 'r' })
    for await (const event of run) if (event.type === 'retry.scheduled') void agent.close()
    expect(expectAborted(await run.outcome).reason).toBe('interrupted')
    const { entries } = await agent.replay('r')
    expect(entries.at(-1)?.state).toBe('thinking.backingOff')
  })

  it('lets a run that is in no journal go on to its end, as long as there is time', async () => {
    const { model, asked, answer } = heldModel([add, 'three'])
    const tool = countingAdd()
    const agent = createAgent({ model, tools: [tool] })
    const running = agent.run('go')
    await asked
    const closing = agent.close()
    answer(add)
    expect(expectDone(await running).output).toBe('three')
    expect(tool.runs).toHaveLength(2)
    expect(await closing).toEqual({ interrupted: [] })
  })

  it('interrupts it when time is over, and says that nothing is kept', async () => {
    vi.useFakeTimers()
    const agent = createAgent({ model: scriptedModel([HANG]) })
    const running = agent.run('go')
    const closing = agent.close({ timeoutMs: 100 })
    await vi.advanceTimersByTimeAsync(100)
    const outcome = expectAborted(await running)
    expect(outcome).toMatchObject({ reason: 'interrupted' })
    expect(outcome.message).not.toContain('resume')
    expect(await closing).toEqual({ interrupted: [] })
  })

  it('shows that what was given up has ended', async () => {
    vi.useFakeTimers()
    const seen: string[] = []
    const agent = createAgent({ model: scriptedModel([HANG]), journal: memoryJournal() })
    const running = agent.run('go', { onEvent: ({ type }) => seen.push(type) })
    await vi.advanceTimersByTimeAsync(0)
    void agent.close({ timeoutMs: 1 })
    await vi.advanceTimersByTimeAsync(1)
    await running
    expect(seen.filter((type) => !/^(?:messages|limits|model\.requested)/.test(type))).toEqual([
      'run.started',
      'model.started',
      'model.failed',
      'run.finished',
    ])
  })

  it('is not held by a journal that hangs', async () => {
    vi.useFakeTimers()
    const kept = memoryJournal()
    let appended = 0
    const append: Journal['append'] = (...entries) =>
      ++appended < 2 ? kept.append(...entries) : new Promise(() => {})
    const agent = createAgent({ model: scriptedModel(['ok']), journal: journalThat({ ...kept, append }) })
    const running = agent.run('go')
    await vi.advanceTimersByTimeAsync(0)
    const closing = agent.close({ timeoutMs: 1000 })
    await vi.advanceTimersByTimeAsync(5000)
    expect(expectAborted(await running).reason).toBe('journal_error')
    await closing
  })

  const never = (): Promise<never> => new Promise(() => {})

  it.each<[string, Partial<Journal>, (agent: Agent) => Promise<unknown>]>([
    ['a run begins', { append: never }, (agent) => agent.run('go')],
    ['a run is read', { load: never }, (agent) => agent.resume('r')],
    ['a run is taken up', { append: never }, (agent) => agent.resume('r')],
    ['a fork is written', { append: never }, (agent) => agent.fork('r', { at: 1 })],
    ['a lease is taken', { lease: never }, (agent) => agent.recover()],
  ])('is not held by a journal that hangs while %s', async (_when, hangs, act) => {
    vi.useFakeTimers()
    const kept = await journalOf([started])
    const agent = createAgent({ model: scriptedModel([]), journal: { ...kept, ...hangs } })
    const acting = act(agent).catch((thrown: unknown) => thrown)
    await vi.advanceTimersByTimeAsync(0)
    const closing = agent.close({ timeoutMs: 1000 })
    await vi.advanceTimersByTimeAsync(5000)
    await closing
    await acting
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is not held by a journal that hangs where its signal is aborted', async () => {
    vi.useFakeTimers()
    const kept = await journalOf([started])
    const agent = createAgent({ model: scriptedModel([]), journal: { ...kept, load: never } })
    const refused = rejectionOf(agent.resume('r', { signal: AbortSignal.abort() }))
    await vi.advanceTimersByTimeAsync(1000)
    expect(await refused).toMatchObject({ code: 'journal_error' })
  })

  it('names a run once, however many wait for it', async () => {
    const { tool, begun } = hanging()
    const model = scriptedModel([{ calls: [{ name: 'hang' }] }])
    const agent = createAgent({ model, tools: [tool], journal: memoryJournal() })
    const running = agent.run('go', { runId: 'r' })
    await begun
    const queued = [1, 2].map(() => rejectionOf(agent.resume('r', { whenBusy: 'queue' })))
    expect(await agent.close({ timeoutMs: 1 })).toEqual({ interrupted: ['r'] })
    expect(expectAborted(await running).reason).toBe('interrupted')
    for (const refused of await Promise.all(queued)) expect(refused).toMatchObject({ code: 'run_active' })
  })

  it('waits for the same when it is closed again', async () => {
    const { model, asked, answer } = heldModel([])
    const agent = createAgent({ model, journal: memoryJournal() })
    const running = agent.run('go')
    await asked
    const closings = [agent.close(), agent.close()]
    answer('ok')
    await running
    expect(await Promise.all(closings)).toEqual([{ interrupted: [] }, { interrupted: [] }])
    await expect(agent.close({ timeoutMs: -1 })).rejects.toMatchObject({ code: 'invalid_timeout' })
  })

  it('leaves a session with its open run, which goes on elsewhere', async () => {
    const [journal, sessions] = [memoryJournal(), memorySessions()]
    const { model, asked, answer } = heldModel([])
    const tools = [countingAdd()]
    const agent = createAgent({ model, tools, journal, sessions })
    const running = agent.session('s').run('1 + 2?')
    await asked
    const closing = agent.close()
    answer(add)
    expect(expectAborted(await running).reason).toBe('interrupted')
    await closing
    const next = createAgent({ model: scriptedModel(['three', 'four']), tools, journal, sessions })
    const session = next.session('s')
    expect(expectDone(await session.resume()).output).toBe('three')
    expectDone(await session.run('and one more?'))
    expect((await session.messages()).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
    ])
  })
})
