import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createAgent, defineTool, type JournalEntry, memoryJournal, type Outcome } from '../../src/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { journalOf, journalThat } from '../support/journals.ts'
import { expectAborted, expectDone, expectSendable } from '../support/outcome.ts'
import { script } from '../support/script.ts'
import { countingAdd, throwing } from '../support/tools.ts'

/** Runs the script to its end and gives back the journal. */
async function recordedRun(options: { idempotent?: boolean } = {}) {
  const journal = memoryJournal()
  const tools = [countingAdd(options), throwing(new Error('no'))]
  const outcome = await createAgent({ model: scriptedModel(script), tools, journal }).run('go', {
    runId: 'r',
  })
  return { outcome, entries: (await journal.load('r')) ?? [] }
}

/** An outcome without what differs from one run to the next. */
function timeless({ durationMs: _durationMs, ...outcome }: Outcome) {
  return outcome
}

describe('the journal', () => {
  it('holds each event before the machine sees it', async () => {
    const journal = memoryJournal()
    let recordedAtToolStart: string[] = []
    const look = defineTool({
      name: 'look',
      description: 'Looks into the journal.',
      input: z.object({}),
      run: async () => {
        recordedAtToolStart = ((await journal.load('r')) ?? []).map(({ type }) => type)
        return 'seen'
      },
    })
    const model = scriptedModel([{ calls: [{ name: 'look' }] }, 'ok'])
    await createAgent({ model, tools: [look], journal }).run('go', { runId: 'r' })
    expect(recordedAtToolStart).toEqual(['started', 'event', 'intent'])
  })

  it('folds to the same states, transcript and outcome, without calling anyone', async () => {
    const { outcome, entries } = await recordedRun()
    const add = countingAdd()
    const model = scriptedModel([])
    const agent = createAgent({ model, tools: [add, throwing('no')], journal: await journalOf(entries) })
    expect(timeless(await agent.resume('r'))).toEqual(timeless(outcome))
    expect(model.requests).toEqual([])
    expect(add.runs).toEqual([])
  })

  it('cut after any entry and resumed gives the same outcome, with only the missing effects executed', async () => {
    const { outcome, entries } = await recordedRun({ idempotent: true })
    for (let cut = 1; cut <= entries.length; cut++) {
      const kept = entries.slice(0, cut)
      const settled = kept.flatMap((entry) =>
        entry.type === 'event' && entry.event.type === 'settled' ? [entry.event.place] : [],
      )
      const modelCallsDone = settled.filter((place) => place.startsWith('model')).length
      const addsDone = settled.filter((place) => place.startsWith('tool.1')).length
      const add = countingAdd({ idempotent: true })
      const model = scriptedModel(script.slice(modelCallsDone))
      const journal = await journalOf(kept)
      const fail = { ...throwing(new Error('no')), idempotent: true }
      const resumed = await createAgent({ model, tools: [add, fail], journal }).resume('r')
      expect(timeless(resumed), `cut after entry ${cut}`).toEqual(timeless(outcome))
      expect(model.requests, `cut after entry ${cut}`).toHaveLength(script.length - modelCallsDone)
      expect(add.runs, `cut after entry ${cut}`).toHaveLength(2 - addsDone)
      expect(((await journal.load('r')) ?? []).filter(({ type }) => type === 'ended')).toHaveLength(1)
    }
  })

  it('reports a tool call in doubt to the model where its tool is not idempotent, and does not run it again', async () => {
    const { entries } = await recordedRun()
    // The process died right after both intents.
    const cut =
      entries.findLastIndex((entry) => entry.type === 'intent' && entry.place.startsWith('tool.1')) + 1
    const add = countingAdd()
    const model = scriptedModel(['I will check.'])
    const journal = await journalOf(entries.slice(0, cut))
    const outcome = expectDone(await createAgent({ model, tools: [add], journal }).resume('r'))
    expect(add.runs).toEqual([])
    const results = outcome.transcript.filter(({ role }) => role === 'tool')
    expect(results).toHaveLength(2)
    for (const { content } of results) expect(content).toContain('Error (in_doubt)')
    expectSendable(outcome)
  })

  it('gives an idempotent tool the same key when it runs again', async () => {
    const keys: string[] = []
    const key = defineTool({
      name: 'key',
      description: 'Keeps its key.',
      input: z.object({ n: z.number() }),
      idempotent: true,
      run: (_args, { idempotencyKey }) => {
        keys.push(idempotencyKey)
        return 'ok'
      },
    })
    const journal = memoryJournal()
    const calls = {
      calls: [
        { name: 'key', arguments: { n: 1 } },
        { name: 'key', arguments: { n: 2 } },
      ],
    }
    await createAgent({ model: scriptedModel([calls, 'ok']), tools: [key], journal }).run('go', {
      runId: 'r',
    })
    const entries = (await journal.load('r')) ?? []
    const cut = entries.findLastIndex(({ type }) => type === 'intent') + 1
    const again = await journalOf(entries.slice(0, cut))
    await createAgent({ model: scriptedModel(['ok']), tools: [key], journal: again }).resume('r')
    expect(keys).toEqual(['r/tool.1.0', 'r/tool.1.1', 'r/tool.1.0', 'r/tool.1.1'])
  })

  it('keeps the limits that a run began with', async () => {
    const add: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
    const journal = memoryJournal()
    const first = createAgent({ model: scriptedModel([add]), tools: [countingAdd()], journal })
    const run = first.stream({ messages: 'go', limits: { steps: 1 } }, { runId: 'r' })
    await run.outcome
    const entries = ((await journal.load('r')) ?? []).slice(0, 2)
    const second = createAgent({
      model: scriptedModel(['closing']),
      tools: [countingAdd()],
      journal: await journalOf(entries),
      limits: { steps: 5 },
    })
    expect(expectDone(await second.resume('r')).stoppedBy).toMatchObject({ limit: 'steps', max: 1 })
  })

  it('refuses a run id that it has already', async () => {
    const journal = memoryJournal()
    const agent = createAgent({ model: scriptedModel(['one', 'two']), journal })
    await agent.run('go', { runId: 'r' })
    await expect(agent.run('go', { runId: 'r' })).rejects.toMatchObject({ code: 'run_exists' })
    const run = agent.stream('go', { runId: 'r' })
    await expect(run.outcome).rejects.toMatchObject({ code: 'run_exists' })
    await expect(run[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'run_exists' })
  })

  it('says so when a run is not in it', async () => {
    const agent = createAgent({ model: scriptedModel([]), journal: memoryJournal() })
    await expect(agent.resume('nope')).rejects.toMatchObject({ code: 'run_not_found' })
  })

  it('says so when it was written by an agent that worked otherwise', async () => {
    const { entries } = await recordedRun()
    const first = entries[0] as JournalEntry
    const foreign: JournalEntry = {
      type: 'event',
      at: 0,
      event: { type: 'settled', place: 'tool.9.0', output: {} },
    }
    const agent = createAgent({ model: scriptedModel([]), journal: await journalOf([first, foreign]) })
    await expect(agent.resume('r')).rejects.toMatchObject({ code: 'journal_mismatch' })
  })

  it('that fails ends the run, which says that it is not recorded', async () => {
    const add = countingAdd()
    for (const failAt of [0, 1, 2, 3]) {
      let appended = 0
      const journal = journalThat({
        append: () => {
          if (appended++ === failAt) throw new Error('disk full')
          return true
        },
      })
      const agent = createAgent({ model: scriptedModel(script), tools: [add, throwing('no')], journal })
      const outcome = expectAborted(await agent.run('go'))
      expect(outcome).toMatchObject({
        reason: 'journal_error',
        message: 'The journal failed: disk full',
      })
      expectSendable(outcome)
    }
  })

  it('may take its time', async () => {
    const kept = memoryJournal()
    const slow = journalThat({
      append: async (runId, entries, length) => {
        await Promise.resolve()
        return kept.append(runId, entries, length)
      },
    })
    const agent = createAgent({
      model: scriptedModel(script),
      tools: [countingAdd(), throwing('no')],
      journal: slow,
    })
    expectDone(await agent.run('go', { runId: 'r' }))
    expect((await kept.load('r'))?.at(-1)).toMatchObject({ type: 'ended', status: 'done' })
  })

  it('records a cancellation, and a cancelled run stays cancelled', async () => {
    const journal = memoryJournal()
    const agent = createAgent({ model: scriptedModel([HANG]), journal })
    const run = agent.stream('go', { runId: 'r' })
    run.abort('enough')
    await run.outcome
    expect(expectAborted(await agent.resume('r'))).toMatchObject({ reason: 'cancelled', message: 'enough' })
  })
})

describe('the work of a step', () => {
  it('does not grow with the length of the run', async () => {
    const runs: { size: number; entries: number }[] = []
    const journal = journalThat({
      append: (_runId, entries) => {
        runs.push({ size: JSON.stringify(entries).length, entries: entries.length })
        return true
      },
    })
    const steps = 1000
    // Each another one, but all of the same length.
    const add = (_: unknown, i: number): ScriptedStep => ({
      calls: [{ name: 'add', arguments: { a: 1000 + i, b: 2 }, id: 'fixed' }],
    })
    const model = scriptedModel([...Array.from({ length: steps }, add), 'ok'])
    let transitions = 0
    const perStep: number[] = []
    const outcome = await createAgent({
      model,
      tools: [countingAdd()],
      journal,
      limits: { steps: Number.POSITIVE_INFINITY },
    }).run('go', {
      onEvent: ({ type }) => {
        if (type === 'transition') transitions++
        if (type === 'model.started') perStep.push(transitions)
      },
    })
    expect(expectDone(outcome).steps).toBe(steps + 1)
    const work = (from: number, to: number) => {
      const part = runs.slice(from, to)
      return part.reduce((sum, { size }) => sum + size, 0) / part.length
    }
    const perModelCall = perStep.slice(1).map((count, i) => count - (perStep[i] ?? 0))
    expect(new Set(perModelCall)).toEqual(new Set([5]))
    // Ids and counters get longer by a digit; the entries do not get longer with the transcript.
    expect(work(2900, 3000) / work(3, 103)).toBeLessThan(1.1)
    expect(new Set(runs.map(({ entries }) => entries))).toEqual(new Set([1]))
  })
})
