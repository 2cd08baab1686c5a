import { describe, expect, it } from 'vitest'
import { createAgent, memoryJournal } from '../../../src/index.ts'
import { resolveSettings } from '../../../src/machines/index.ts'
import { type ScriptedStep, scriptedModel } from '../../../src/testing/index.ts'
import { journalOf } from '../../support/journals.ts'
import { expectDone, rejectionOf } from '../../support/outcome.ts'
import { countingAdd } from '../../support/tools.ts'

const laddersOf = (limits: object) => resolveSettings({ limits }).limits

describe('the thresholds of a limit', () => {
  it('follow from one number', () => {
    expect(
      laddersOf({ steps: 5, repeats: 3, errorStreak: 4, stagnation: 1, malformed: 3, toolCalls: 9 }),
    ).toEqual({
      steps: { conclude: 5 },
      repeats: { warn: 3, conclude: 4 },
      errorStreak: { conclude: 4 },
      stagnation: { warn: 1, conclude: 2 },
      malformed: { abort: 3 },
      time: {},
      tokens: {},
      cost: {},
      toolCalls: { conclude: 9 },
      sameCalls: {},
    })
    expect(laddersOf({ time: 60_000, tokens: 100 })).toMatchObject({
      time: { conclude: 48_000, abort: 60_000 },
      tokens: { conclude: 100, abort: 100 },
    })
    expect(laddersOf({ time: 600_000 }).time).toEqual({ conclude: 570_000, abort: 600_000 })
  })

  it('can be a ladder, or off', () => {
    expect(
      laddersOf({ steps: { warn: 6, conclude: 8 }, repeats: { abort: 3, warn: undefined } }),
    ).toMatchObject({
      steps: { warn: 6, conclude: 8 },
      repeats: { abort: 3 },
    })
    const infinity = Number.POSITIVE_INFINITY
    expect(laddersOf({ steps: infinity, repeats: { warn: 2, conclude: infinity } })).toMatchObject({
      steps: {},
      repeats: { warn: 2 },
    })
  })

  it('keep their thresholds where only a switch is given', () => {
    expect(laddersOf({ errorStreak: { perTool: false } }).errorStreak).toEqual({
      conclude: 3,
      perTool: false,
    })
    const settings = resolveSettings({ limits: { errorStreak: { abort: Infinity, perTool: false } } })
    expect(settings.limits.errorStreak).toEqual({})
    expect(resolveSettings(JSON.parse(JSON.stringify(settings)))).toEqual(settings)
  })

  it('are the same after a way through JSON', () => {
    const settings = resolveSettings({ limits: { steps: Number.POSITIVE_INFINITY, time: 1000 } })
    expect(resolveSettings(JSON.parse(JSON.stringify(settings)))).toEqual(settings)
    // As an older journal has it.
    expect(
      laddersOf(JSON.parse(JSON.stringify({ steps: Number.POSITIVE_INFINITY, errorStreak: 3 }))),
    ).toMatchObject({
      steps: {},
      errorStreak: { conclude: 3 },
    })
  })

  it.each([
    [{ stepz: 3 }, 'Unknown limit "stepz". Known limits: steps, repeats, '],
    [{ toString: 3 }, 'Unknown limit "toString"'],
    [{ steps: 0 }, 'limits.steps must be a whole number of at least 1, not 0.'],
    [{ steps: '8' }, 'limits.steps must be a whole number of at least 1, not 8.'],
    [{ repeats: 1 }, 'limits.repeats must be a whole number of at least 2, not 1.'],
    [{ time: 0 }, 'limits.time must be a number above 0, not 0.'],
    [{ time: -5 }, 'limits.time must be a number above 0'],
    [{ tokens: 1.5 }, 'limits.tokens must be a whole number'],
    [{ steps: { warn: 1.5 } }, 'limits.steps.warn must be a whole number of at least 1, not 1.5.'],
    [{ steps: { max: 5 } }, 'limits.steps knows no "max". It knows warn, conclude and abort'],
    [{ sameCalls: 1 }, 'limits.sameCalls must be a whole number of at least 2, not 1.'],
    [{ sameCalls: { refuse: 2, inARow: 1 } }, 'limits.sameCalls.inARow must be true or false, not 1.'],
    [
      { sameCalls: { max: 2 } },
      'It knows warn, refuse, conclude and abort, each with a threshold, and inARow',
    ],
    [{ sameCalls: { refuse: 4, abort: 3 } }, 'warn (0) up to refuse (4) up to conclude (4) up to abort (3)'],
    [{ repeats: { refuse: 2 } }, 'limits.repeats knows no "refuse"'],
    [{ sameCalls: { inARow: true } }, 'limits.sameCalls needs a threshold beside inARow.'],
    [{ sameCalls: [] }, 'limits.sameCalls must be a number or an object, not a list.'],
    [{ errorStreak: { perTool: null } }, 'limits.errorStreak.perTool must'],
    [{ steps: { warn: 9, conclude: 8 } }, 'limits.steps must react more strictly the higher it counts'],
    [{ steps: { conclude: 9, abort: 8 } }, 'limits.steps must react more strictly the higher it counts'],
  ])('cannot be %o', (limits, message) => {
    const misuse = expect.objectContaining({
      name: 'MisuseError',
      code: 'invalid_limit',
      message: expect.stringContaining(message),
    })
    expect(() => createAgent({ model: scriptedModel([]), limits: limits as never })).toThrow(misuse)
  })

  it('of a run are kept in its journal, ladders and all', async () => {
    const step = (a: number): ScriptedStep => ({ calls: [{ name: 'add', arguments: { a, b: 2 } }] })
    const journal = memoryJournal()
    const first = createAgent({
      model: scriptedModel([step(1)]),
      tools: [countingAdd({ idempotent: true })],
      journal,
    })
    await first.run({ messages: 'go', limits: { steps: { warn: 1, conclude: 2 } } }, { runId: 'r' })
    const again = await journalOf(((await journal.load('r')) ?? []).slice(0, 3))
    const model = scriptedModel([step(2), 'closing'])
    const agent = createAgent({
      model,
      tools: [countingAdd({ idempotent: true })],
      journal: again,
      limits: { steps: 9 },
    })
    const outcome = expectDone(await agent.resume('r'))
    expect(outcome.stoppedBy).toMatchObject({ limit: 'steps', max: 2 })
    expect(model.requests[0]?.messages.at(-1)?.content).toContain(
      'This was model call number 1, and few are left',
    )
  })
})

describe('limits that are null', () => {
  it.each([[null], [{ steps: null }], [{ repeats: { conclude: null } }]])(
    'are refused, for an agent and for one run: %j',
    async (limits) => {
      const model = scriptedModel([])
      const expected = expect.objectContaining({
        name: 'MisuseError',
        code: 'invalid_limit',
        message: expect.stringMatching(/null.*Infinity/),
      })
      expect(() => createAgent({ model, limits: limits as never })).toThrow(expected)
      const run = createAgent({ model }).run({ messages: 'go', limits: limits as never })
      expect(await rejectionOf(run)).toEqual(expected)
    },
  )

  it('switch a limit off where they come from JSON, which writes Infinity so', () => {
    const written = JSON.parse(JSON.stringify({ steps: Number.POSITIVE_INFINITY }))
    expect(laddersOf(written).steps).toEqual({})
  })
})
