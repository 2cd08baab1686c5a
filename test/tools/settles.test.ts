import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { createAgent, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { expectSendable } from '../support/outcome.ts'

/** What one call does, at moments in milliseconds. */
const behaviour = fc.oneof(
  fc.record({ does: fc.constant('return' as const) }),
  fc.record({
    does: fc.constant('throw' as const),
    what: fc.constantFrom(new Error('no'), 'text', undefined, null),
  }),
  fc.record({ does: fc.constant('resolve' as const), after: fc.nat(200) }),
  fc.record({ does: fc.constant('reject' as const), after: fc.nat(200) }),
  fc.record({ does: fc.constant('fail for now' as const), after: fc.nat(50) }),
  fc.record({ does: fc.constant('hang' as const) }),
  fc.record({ does: fc.constant('listen' as const) }),
)
type Behaviour = typeof behaviour extends fc.Arbitrary<infer Value> ? Value : never

const TIMEOUT_MS = 120
const RETRIES = 1
/** A wait between two attempts is at most this long at first. */
const FIRST_BACKOFF_MS = 200

function toolFor(behaviours: readonly Behaviour[], options: { sequential: boolean; concurrency: number }) {
  return defineTool({
    name: 'act',
    description: 'Acts.',
    input: z.object({ n: z.number() }),
    timeoutMs: TIMEOUT_MS,
    retries: RETRIES,
    ...options,
    run: ({ n }, { signal }) => {
      const acting = behaviours[n] as Behaviour
      switch (acting.does) {
        case 'return':
          return n
        case 'throw':
          throw acting.what
        case 'resolve':
          return new Promise((resolve) => setTimeout(() => resolve(n), acting.after))
        case 'reject':
          return new Promise((_resolve, reject) => setTimeout(() => reject(new Error('late')), acting.after))
        case 'fail for now':
          return new Promise((_resolve, reject) =>
            setTimeout(() => reject(Object.assign(new Error('busy'), { retryable: true })), acting.after),
          )
        case 'hang':
          return new Promise(() => {})
        case 'listen':
          return new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason)),
          )
      }
    },
  })
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('a run settles in time, answers each call once and leaves nothing behind, whatever its tools do and whenever it is stopped', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(behaviour, { minLength: 1, maxLength: 12 }),
      fc.option(fc.nat(400)),
      fc.boolean(),
      fc.constantFrom(1, 3, Number.POSITIVE_INFINITY),
      async (behaviours, stopAt, sequential, concurrency) => {
        const calls = behaviours.map((_behaviour, n) => ({ name: 'act', arguments: { n } }))
        const controller = new AbortController()
        const agent = createAgent({
          model: scriptedModel([{ calls }, 'The end.']),
          tools: [toolFor(behaviours, { sequential, concurrency })],
        })
        const running = agent.run('go', { signal: controller.signal })
        let settledAt: number | undefined
        const begun = Date.now()
        running.then(() => {
          settledAt = Date.now() - begun
        })
        if (stopAt !== null) setTimeout(() => controller.abort(), stopAt)
        const oneByOne = behaviours.length * (RETRIES + 1) * (TIMEOUT_MS + FIRST_BACKOFF_MS)
        const bound = stopAt === null ? oneByOne : Math.min(oneByOne, stopAt)
        await vi.advanceTimersByTimeAsync(bound + 1)
        expect(settledAt, 'it did not settle in time').toBeLessThanOrEqual(bound)

        const outcome = await running
        expectSendable(outcome)
        const answers = outcome.transcript.filter(({ role }) => role === 'tool')
        expect(answers).toHaveLength(stopAt === 0 ? answers.length : behaviours.length)
        expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
        // What the tools themselves have started is theirs; of the run nothing is left.
        const before = structuredClone(outcome.transcript)
        await vi.runAllTimersAsync()
        expect(vi.getTimerCount()).toBe(0)
        expect(outcome.transcript).toEqual(before)
      },
    ),
    { numRuns: 300 },
  )
})
