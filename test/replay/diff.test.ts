import { describe, expect, it } from 'vitest'
import { createAgent, diff, memoryJournal, replay } from '../../src/index.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { script } from '../support/script.ts'
import { countingAdd, throwing } from '../support/tools.ts'
import { recordedRun } from './support.ts'

/** The difference between the run of the script and the run of another one. */
async function differenceTo(steps: readonly ScriptedStep[], limits = {}) {
  const [a, b] = [await recordedRun(), await recordedRun(steps, limits)]
  return diff(replay(a.entries, { runId: 'a' }), replay(b.entries, { runId: 'b' }))
}

const [both, failing, answer] = script as [ScriptedStep, ScriptedStep, ScriptedStep]

describe('the difference between two runs', () => {
  it('is none where they did the same, whatever ids, times and tokens were', async () => {
    const sameWithOtherIds: ScriptedStep = {
      calls: [
        { name: 'add', arguments: { b: 2, a: 1 }, id: 'x' },
        { name: 'add', arguments: { a: 3, b: 4 }, id: 'y' },
      ],
      usage: { inputTokens: 700 },
    }
    expect(await differenceTo([sameWithOtherIds, failing, answer])).toBeUndefined()
  })

  it('is the first step in which the model asked with other arguments', async () => {
    const other: ScriptedStep = {
      calls: [
        { name: 'add', arguments: { a: 1, b: 2 }, id: 'a' },
        { name: 'add', arguments: { a: 30, b: 4 }, id: 'b' },
      ],
    }
    const difference = await differenceTo([other, failing, 'Other.'])
    expect(difference).toMatchObject({ step: 1, details: [{ what: 'arguments' }, { what: 'result' }] })
    expect(difference?.details[0]).toMatchObject({ a: '{"a":3,"b":4}', b: '{"a":30,"b":4}' })
    expect(difference?.summary).toBe(
      'The runs a and b part in step 1:\n' +
        '- the model called add with {"a":3,"b":4} in the first, {"a":30,"b":4} in the second\n' +
        '- add answered 7 in the first, 34 in the second',
    )
  })

  it('names the tools that were asked for, and where the chart went', async () => {
    const difference = await differenceTo([both, 'Done.'])
    expect(difference).toMatchObject({ step: 2 })
    expect(difference?.details.map(({ what }) => what)).toEqual(['calls', 'text', 'transitions'])
    expect(difference?.summary).toContain('the model asked for fail in the first, no tool in the second')
    expect(difference?.summary).toContain('parsing → executingTools [hasCalls] on always in the first')
    expect(difference?.summary).toContain('parsing → done [isFinalAnswer] on always in the second')
  })

  it('is in the text where only that differs', async () => {
    const difference = await differenceTo([both, failing, 'Seven.'])
    expect(difference).toMatchObject({ step: 3, details: [{ what: 'text', a: '3 and 7.', b: 'Seven.' }] })
  })

  it('names the limit that fired, and the settings behind it', async () => {
    const difference = await differenceTo([both, failing, answer], { errorStreak: 1 })
    expect(difference).toMatchObject({ step: 2 })
    expect(difference?.details.map(({ what }) => what)).toEqual([
      'limit',
      'message',
      'transitions',
      'settings',
    ])
    expect(difference?.summary).toContain('the limit that fired is none in the first, errorStreak (conclude)')
  })

  it('is at the beginning where they were asked something else', async () => {
    const { entries } = await recordedRun()
    const journal = memoryJournal()
    const tools = [countingAdd(), throwing(new Error('no'))]
    await createAgent({ model: scriptedModel(script), tools, journal }).run('come', { runId: 'other' })
    const other = replay((await journal.load('other')) ?? [], { runId: 'other' })
    expect(diff(replay(entries, { runId: 'a' }), other)).toMatchObject({
      step: 0,
      summary: expect.stringContaining('part at the beginning'),
      details: [{ what: 'input' }],
    })
  })

  it('is where one of them goes on and the other has not come that far', async () => {
    const { entries } = await recordedRun()
    const whole = replay(entries, { runId: 'whole' })
    const cut = replay(entries.slice(0, 8), { runId: 'cut' })
    for (const difference of [diff(whole, cut), diff(cut, whole)]) {
      expect(difference?.details.map(({ what }) => what)).toEqual(['end'])
      expect(difference?.step).toBe(2)
    }
    expect(diff(whole, cut)?.summary).toContain(
      'the run is done in the first, running in step 2, executingTools in the second',
    )
  })

  it('is the parting of a fork from its run', async () => {
    const { journal } = await recordedRun()
    const agent = createAgent({ model: scriptedModel(['Other.']), tools: [countingAdd()], journal })
    await agent.fork('r', { at: 2, runId: 'f' })
    expect(diff(await agent.replay('r'), await agent.replay('f'))).toMatchObject({
      step: 2,
      details: [{ what: 'calls' }, { what: 'text' }, { what: 'transitions' }, { what: 'agent' }],
    })
  })
})
