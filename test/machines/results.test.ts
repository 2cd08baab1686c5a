import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findViolations } from '../../src/index.ts'
import { resolveSettings } from '../../src/machines/index.ts'
import { type Brought, bounds, ResultsModel, type SpecCall, type SpecStep } from './resultsModel.ts'
import { MODEL, ScriptedActor, turn } from './scriptedActor.ts'

const names = ['search', 'read', 'poll'] as const
const brought = ['fresh', 'stale', 'ok', 'failed'] as const
const everyCall: readonly SpecCall[] = names.flatMap((name) => brought.map((brings) => ({ name, brings })))

/** Drives the real machine through the steps and compares what its limits say with the model, after each. */
async function follow(steps: readonly SpecStep[]): Promise<void> {
  const real = new ScriptedActor(resolveSettings({ limits: bounds }))
  const model = new ResultsModel()
  const story: string[] = []
  let text = 0
  for (const calls of steps) {
    story.push(calls.map(({ name, brings }) => `${name} ${brings}`).join(' + '))
    const told = story.join(' → ')
    const asked = turn(
      '',
      calls.map(({ name }) => name),
    )
    const repeatable = calls.flatMap(({ name }, i) => (name === 'poll' ? [i] : []))
    real.settle({ ...asked, repeatable }, MODEL)
    await real.heard()
    for (const [position, { brings }] of calls.entries()) {
      real.settle(answerOf(brings, text++), ['tool.'], `.${position}`)
    }
    await real.heard()
    const { limit, warned } = model.take(calls)
    const { value, context } = real.snapshot
    expect(context.verdict?.limit, told).toBe(limit)
    expect(value, told).toEqual(limit === undefined ? { thinking: 'calling' } : { concluding: 'calling' })
    expect(
      context.warnings.map((warning) => warning.limit),
      told,
    ).toEqual(warned)
    expect(findViolations(context.transcript.toArray()), told).toEqual([])
    if (limit !== undefined) break
  }
  real.actor.stop()
}

function answerOf(brings: Brought, n: number): { readonly content: string; readonly error?: string } {
  if (brings === 'failed') return { content: 'Error (failed): no', error: 'failed' }
  if (brings === 'ok') return { content: 'ok' }
  const topic = brings === 'stale' ? 'stale' : `fresh${n}x`
  return { content: Array.from({ length: 40 }, (_, i) => `${topic}${i}`).join(' ') }
}

describe('the limits on what calls bring do what the model says', { timeout: 120_000 }, () => {
  it('for every sequence of three steps of one call', async () => {
    for (const a of everyCall)
      for (const b of everyCall) for (const c of everyCall) await follow([[a], [b], [c]])
  })

  it('for every sequence of five steps of a few calls', async () => {
    const few: readonly SpecCall[] = [
      { name: 'search', brings: 'stale' },
      { name: 'search', brings: 'fresh' },
      { name: 'read', brings: 'stale' },
      { name: 'poll', brings: 'stale' },
    ]
    const sequences = (length: number): SpecCall[][] =>
      length === 0 ? [[]] : sequences(length - 1).flatMap((before) => few.map((call) => [...before, call]))
    for (const calls of sequences(5)) await follow(calls.map((call) => [call]))
  })

  it('for long runs with calls in parallel', async () => {
    const call = fc.constantFrom(...everyCall)
    // Calls of one reply that ask for the same are one call.
    const step = fc.uniqueArray(call, { selector: ({ name }) => name, minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 10 }), (steps) => follow(steps)),
      { numRuns: 400 },
    )
  })
})
