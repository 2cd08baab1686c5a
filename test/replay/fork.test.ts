import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  createAgent,
  type ForkOptions,
  type Journal,
  type JournalEntry,
  memoryJournal,
  type ToolMessage,
} from '../../src/index.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { journalOf } from '../support/journals.ts'
import { expectDone, expectSendable, rejectionOf } from '../support/outcome.ts'
import { countingAdd, throwing } from '../support/tools.ts'
import { entriesOf, recordedRun, settledPlaces, upTo } from './support.ts'

/** An agent over a journal, with a model that follows a script from the fork on, and a tool that counts. */
function forkingAgent(journal: Journal, steps: readonly ScriptedStep[]) {
  const add = countingAdd()
  const model = scriptedModel(steps)
  const agent = createAgent({ model, tools: [add, throwing(new Error('no'))], journal })
  return { agent, add, model }
}

function resultsOf(outcome: { readonly transcript: readonly unknown[] }): readonly string[] {
  return (outcome.transcript as readonly ToolMessage[])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => content)
}

afterEach(() => {
  vi.useRealTimers()
})

describe('a fork', () => {
  it('shares what was before its step and asks the model anew, without doing anything again', async () => {
    const { journal, entries } = await recordedRun()
    const { agent, add, model } = forkingAgent(journal, ['Another answer.'])
    const outcome = expectDone(await agent.fork('r', { at: 2, runId: 'f' }))
    expect(outcome).toMatchObject({ runId: 'f', output: 'Another answer.', steps: 2 })
    expect(add.runs).toEqual([])
    expect(model.requests).toHaveLength(1)
    expect(resultsOf(outcome)).toEqual(['3', '7'])
    expect(await entriesOf(journal)).toEqual(entries)
    model.assertFinished()
  })

  it('has a whole journal of its own, which says where it comes from', async () => {
    const { journal } = await recordedRun()
    const { agent } = forkingAgent(journal, ['Another answer.'])
    const outcome = await agent.fork('r', { at: 2, runId: 'f' })
    const kept = await entriesOf(journal, 'f')
    expect(kept[0]).toMatchObject({ type: 'started', forkOf: { runId: 'r', at: 2 } })
    expect(settledPlaces(kept)).toEqual(['model.1.1', 'tool.1.0', 'tool.1.1', 'model.2.1'])
    const alone = forkingAgent(await journalOf(kept, 'f'), [])
    const again = expectDone(await alone.agent.resume('f'))
    expect(again.transcript).toEqual(outcome.transcript)
    expect(alone.add.runs).toEqual([])
  })

  it('goes on from another reply of the model, calls included', async () => {
    const { journal } = await recordedRun()
    const { agent, add, model } = forkingAgent(journal, ['It is 9.'])
    const reply = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'x', type: 'function', function: { name: 'add', arguments: '{"a":4,"b":5}' } }],
    } as const
    const outcome = expectDone(await agent.fork('r', { at: 2, reply }))
    expect(add.runs).toEqual([{ a: 4, b: 5 }])
    expect(resultsOf(outcome)).toEqual(['3', '7', '9'])
    expect(outcome.usage).toMatchObject({ inputTokens: 7 + 1, outputTokens: 2 })
    expectSendable(outcome)
    model.assertFinished()
  })

  it('ends with a text that is given as the reply, and asks nobody', async () => {
    const { journal } = await recordedRun()
    const { agent, model } = forkingAgent(journal, [])
    expect(expectDone(await agent.fork('r', { at: 1, reply: 'Enough.' })).output).toBe('Enough.')
    expect(model.requests).toEqual([])
  })

  it('goes on from another result of a tool, and shares the other results', async () => {
    const { journal } = await recordedRun()
    const { agent, add, model } = forkingAgent(journal, ['100 and 7.'])
    const outcome = expectDone(await agent.fork('r', { at: 1, results: { a: '100' } }))
    expect(resultsOf(outcome)).toEqual(['100', '7'])
    expect(add.runs).toEqual([])
    expect(model.requests).toHaveLength(1)
  })

  it('can turn a failed call into a successful one, and a successful one into a failed one', async () => {
    const { journal } = await recordedRun()
    const mended = forkingAgent(journal, ['ok'])
    const good = await mended.agent.fork('r', { at: 2, results: { c: 'fine' } })
    expect(good.toolCalls).toEqual({ total: 3, failed: 0 })
    const broken = forkingAgent(journal, ['ok'])
    const bad = await broken.agent.fork('r', { at: 1, results: { b: { content: 'down', error: 'failed' } } })
    expect(bad.toolCalls).toEqual({ total: 2, failed: 1 })
  })

  it('gives a call whose process died the result that a person found', async () => {
    const { entries } = await recordedRun()
    const crashed = upTo(
      entries,
      ({ type, ...entry }) => type === 'intent' && 'place' in entry && entry.place === 'tool.1.1',
    )
    const { agent, add } = forkingAgent(await journalOf(crashed), ['ok'])
    const outcome = expectDone(await agent.fork('r', { at: 1, results: { a: '3', b: 'it was 7' } }))
    expect(resultsOf(outcome)).toEqual(['3', 'it was 7'])
    expect(add.runs).toEqual([])
  })

  it('goes on beyond a limit that ended the run, with a higher one', async () => {
    const add: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
    const { journal, outcome } = await recordedRun([add, add, 'Cut short.'], { steps: 2 })
    expect(expectDone(outcome).stoppedBy).toMatchObject({ limit: 'steps', max: 2 })
    const other: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 5, b: 5 } }] }
    const { agent, add: tool } = forkingAgent(journal, [other, 'Done.'])
    const fork = expectDone(await agent.fork('r', { at: 3, limits: { steps: 5 } }))
    expect(fork).toMatchObject({ output: 'Done.', steps: 4 })
    expect(fork.stoppedBy).toBeUndefined()
    expect(tool.runs).toHaveLength(1)
  })

  it('has idempotency keys of its own for what it does itself', async () => {
    const { journal } = await recordedRun()
    const keys: string[] = []
    const add = { ...countingAdd(), name: 'add' }
    const model = scriptedModel([{ calls: [{ name: 'add', arguments: { a: 1, b: 1 } }] }, 'ok'])
    const run: typeof add.run = (args, context) => {
      keys.push(context.idempotencyKey)
      return add.run(args, context)
    }
    const agent = createAgent({ model, tools: [{ ...add, run }], journal })
    await agent.fork('r', { at: 1, runId: 'f' })
    expect(keys).toEqual(['f/tool.1.0'])
  })

  it('is as old as its own part of the run: time that has passed since then does not count', async () => {
    const { entries } = await recordedRun()
    const longAgo = entries.map((entry, i) => ({ ...entry, at: 1000 + 10 * i }))
    const journal = await journalOf(longAgo)
    const { agent } = forkingAgent(journal, ['ok'])
    const before = Date.now()
    await agent.fork('r', { at: 2, runId: 'f' })
    const kept = await entriesOf(journal, 'f')
    expect(kept[1]?.at).toBe((kept[0]?.at ?? 0) + 10)
    expect(kept[0]?.at).toBeGreaterThanOrEqual(before - 10 * entries.length)
  })

  it('does not do once more what had begun in the run that it parts from', async () => {
    const { entries } = await recordedRun()
    const died = upTo(entries, (entry) => entry.type === 'intent' && entry.place === 'tool.1.1')
    for (const idempotent of [true, false]) {
      const journal = await journalOf(died)
      const add = countingAdd({ idempotent })
      const agent = createAgent({
        model: scriptedModel(['ok']),
        tools: [add, throwing(new Error('no'))],
        journal,
      })
      const outcome = await agent.fork('r', { at: 1, results: { a: '4' }, runId: 'f' })
      expect(resultsOf(outcome)[0]).toBe('4')
      expect(resultsOf(outcome)[1]).toContain('Error (in_doubt)')
      expect(add.runs).toEqual([])
    }
  })

  it('does not count the time in which a person thought about a call', async () => {
    vi.useFakeTimers()
    const { entries } = await recordedRun(undefined, { time: 60_000 })
    const journal = await journalOf(
      upTo(entries, (entry) => entry.type === 'intent' && entry.place === 'tool.1.1'),
    )
    const { agent } = forkingAgent(journal, ['ok', 'forked', 'forked again'])
    expect((await agent.resume('r', { inDoubt: 'ask' })).status).toBe('waiting')
    vi.setSystemTime(Date.now() + 48 * 3_600_000)
    const decisions = ['a', 'b'].map((callId) => ({ callId, approved: false, inDoubt: true }) as const)
    expectDone(await agent.resume('r', { decisions }))
    expect(expectDone(await agent.fork('r', { at: 2 })).output).toBe('forked')
    expect(expectDone(await agent.fork('r', { at: 2, limits: { steps: 5 } })).output).toBe('forked again')
  })

  it.each<[string, Partial<Journal>]>([
    [
      'throws',
      {
        append: () => {
          throw new Error('disk full')
        },
      },
    ],
    ['says nothing', { append: () => undefined as never }],
  ])('says so where the store %s', async (_what, broken) => {
    const { journal } = await recordedRun()
    const { agent } = forkingAgent({ ...journal, ...broken }, [])
    expect(await rejectionOf(agent.fork('r', { at: 2 }))).toMatchObject({ code: 'journal_error' })
  })

  it('is held by a lease before it can be seen', async () => {
    const { journal } = await recordedRun()
    const done: string[] = []
    const { agent } = forkingAgent(
      {
        ...journal,
        lease: (...args) => {
          done.push('lease')
          return journal.lease(...args)
        },
        append: (...args) => {
          done.push('append')
          return journal.append(...args)
        },
      },
      ['ok'],
    )
    await agent.fork('r', { at: 2 })
    expect(done.slice(0, 2)).toEqual(['lease', 'append'])
  })

  it('of a run that still runs leaves that alone', async () => {
    const { entries } = await recordedRun()
    const journal = await journalOf(upTo(entries, (entry) => settledPlaces([entry]).includes('tool.1.1')))
    const { agent } = forkingAgent(journal, ['forked', 'resumed'])
    expect(expectDone(await agent.fork('r', { at: 2 })).output).toBe('forked')
    expect(expectDone(await agent.resume('r')).output).toBe('resumed')
  })

  it.each<[ForkOptions, string]>([
    [{ at: 4 }, 'The run "r" can be forked at a step from 1 to 3, not at 4.'],
    [{ at: 0 }, 'at must be the number of a step, from 1 on, not 0'],
    [{ at: 1.5 }, 'at must be the number of a step, from 1 on, not 1.5'],
    [{ at: 3, limits: { steps: 1 } }, 'at step 1, not at 3. With these limits the run takes another way'],
    [{ at: 1, results: { z: 'x' } }, 'No call z ran in step 1 of run "r". Calls that did: a, b.'],
    [{ at: 3, results: { z: 'x' } }, 'Calls that did: none.'],
    [{ at: 1, results: { a: 7 as unknown as string } }, 'The result of call "a" must be a text'],
    [{ at: 1, results: { a: 'x' }, reply: 'y' }, 'not both'],
    [{ at: 1, reply: ' ' }, 'reply must be a text that is not empty'],
  ])('of %j is refused: %s', async (options, message) => {
    const { journal } = await recordedRun()
    const { agent } = forkingAgent(journal, [])
    const error = await rejectionOf(agent.fork('r', { runId: 'f', ...options }))
    expect(error).toMatchObject({ code: 'invalid_fork', message: expect.stringContaining(message) })
    expect(await journal.load('f')).toBeUndefined()
  })

  it('does not take the id of a run that there is', async () => {
    const { journal } = await recordedRun()
    const { agent } = forkingAgent(journal, [])
    await expect(agent.fork('r', { at: 1, runId: 'r' })).rejects.toMatchObject({ code: 'run_exists' })
    await expect(agent.fork('nope', { at: 1 })).rejects.toMatchObject({ code: 'run_not_found' })
    const none = createAgent({ model: scriptedModel([]) })
    await expect(none.fork('r', { at: 1 })).rejects.toMatchObject({ code: 'no_journal' })
  })

  it('of a journal that is none says so', async () => {
    const stray: JournalEntry = { type: 'intent', at: 0, place: 'tool.1.0' }
    const { agent } = forkingAgent(await journalOf([stray]), [])
    await expect(agent.fork('r', { at: 1 })).rejects.toMatchObject({ code: 'journal_invalid', position: 0 })
    const empty = forkingAgent(memoryJournal(), [])
    await expect(empty.agent.fork('r', { at: 1 })).rejects.toMatchObject({ code: 'run_not_found' })
  })
})
