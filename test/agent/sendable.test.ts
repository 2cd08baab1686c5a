import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  type AgentEvent,
  createAgent,
  findViolations,
  ModelError,
  memoryJournal,
  turns,
} from '../../src/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { journalOf } from '../support/journals.ts'
import { expectSendable } from '../support/outcome.ts'
import { countingAdd, deaf, throwing } from '../support/tools.ts'

const call = fc.record({
  id: fc.constantFrom('', 'a', 'b', 'call_1_0'),
  name: fc.constantFrom('add', 'fail', 'deaf', 'nope', '__proto__', '', 'get weather!', '天气'),
  arguments: fc.constantFrom({ a: 1, b: 2 }, {}, '', '{"a":', '"x"', '[]', '\ud83d'),
})
const reply = fc.record({
  text: fc.constantFrom('', 'Some text.', '\udc00 odd'),
  calls: fc.array(call, { maxLength: 3 }),
  finish: fc.constantFrom('stop' as const, 'tool_calls' as const, 'length' as const, 'unknown' as const),
})
const step: fc.Arbitrary<ScriptedStep> = fc.oneof(
  { weight: 6, arbitrary: reply },
  { weight: 1, arbitrary: fc.constant<ScriptedStep>(HANG) },
  {
    weight: 1,
    arbitrary: fc.constant(new ModelError('overloaded', 'busy', { retryable: true, retryAfterMs: 0 })),
  },
)

it('every request and every outcome is sendable, whatever a model does and whenever a run is stopped', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 40 }),
      async (script, count, stopAt) => {
        const model = scriptedModel([...script, 'The end.'])
        const tools = [countingAdd(), throwing(new Error('no \ud83d')), deaf()]
        const agent = createAgent({ model, tools, memory: turns(count), instructions: 'Be brief.' })
        const history = [
          { role: 'user', content: 'first' },
          { role: 'assistant', content: 'yes' },
          { role: 'user', content: 'second' },
        ] as const
        const run = agent.stream(history)
        // Nothing in this script waits for time, so a run that stops reporting hangs.
        let seen = 0
        let idle: ReturnType<typeof setImmediate> | undefined
        const stopWhenIdle = (turnsLeft = 20): void => {
          clearImmediate(idle)
          idle = setImmediate(() => (turnsLeft === 0 ? run.abort('idle') : stopWhenIdle(turnsLeft - 1)))
        }
        stopWhenIdle()
        const types: AgentEvent['type'][] = []
        for await (const event of run) {
          types.push(event.type)
          if (event.type !== 'retry.scheduled') stopWhenIdle()
          if (++seen === stopAt) run.abort('stopped')
        }
        clearImmediate(idle)
        const outcome = await run.outcome
        for (const { messages } of model.requests) expect(findViolations(messages)).toEqual([])
        expectSendable(outcome)
        expect(types.filter((type) => type === 'run.finished')).toHaveLength(1)
        expect(types.at(-1)).toBe('run.finished')
        if (outcome.status === 'done') expect(outcome.output.trim()).not.toBe('')
      },
    ),
    { numRuns: 400 },
  )
})

it('every request is sendable after a crash at any moment, too', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(reply, { minLength: 1, maxLength: 5 }), fc.nat(40), async (script, cutAt) => {
      const recorded = memoryJournal()
      const tools = [countingAdd(), throwing(new Error('no')), { ...deaf(), run: async () => 'not so deaf' }]
      const before = createAgent({ model: scriptedModel([...script, 'The end.']), tools, journal: recorded })
      await before.run('go', { runId: 'r' })
      const entries = (await recorded.load('r')) ?? []
      const journal = await journalOf(entries.slice(0, 1 + (cutAt % entries.length)))
      const model = scriptedModel(Array(8).fill('Going on.'))
      const outcome = await createAgent({ model, tools, journal }).resume('r')
      for (const { messages } of model.requests) expect(findViolations(messages)).toEqual([])
      expectSendable(outcome)
    }),
    { numRuns: 300 },
  )
})
