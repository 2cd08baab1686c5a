import { describe, expect, it } from 'vitest'
import { createAgent } from '../../../src/index.ts'
import { type ScriptedReply, scriptedModel } from '../../../src/testing/index.ts'
import { expectDone, expectSendable } from '../../support/outcome.ts'
import { countingAdd } from '../../support/tools.ts'

const sum = (a: number) => ({ name: 'add', arguments: { a, b: 2 } })
const sums = (...numbers: number[]): ScriptedReply => ({ calls: numbers.map(sum) })

async function run(script: readonly (ScriptedReply | string)[], max: number) {
  const add = countingAdd()
  const outcome = expectDone(
    await createAgent({ model: scriptedModel(script), tools: [add], limits: { toolCalls: max } }).run('go'),
  )
  expectSendable(outcome)
  const results = outcome.transcript.filter(({ role }) => role === 'tool').map(({ content }) => content)
  return { add, outcome, results }
}

describe('the limit of tool calls', () => {
  it('concludes when so many were executed', async () => {
    const { add, outcome } = await run([sums(1), sums(2), 'closing'], 2)
    expect(add.runs).toHaveLength(2)
    expect(outcome.stoppedBy).toEqual({
      limit: 'toolCalls',
      max: 2,
      reaction: 'conclude',
      evidence: '2 tool calls were executed',
    })
  })

  it('leaves a run alone that needs fewer', async () => {
    expect((await run([sums(1), 'enough'], 2)).outcome.stoppedBy).toBeUndefined()
  })

  it('is not jumped over by calls in parallel: those beyond it are answered, and not run', async () => {
    const { add, outcome, results } = await run([sums(1), sums(2, 3, 4, 5), 'closing'], 3)
    expect(add.runs).toEqual([
      { a: 1, b: 2 },
      { a: 2, b: 2 },
      { a: 3, b: 2 },
    ])
    expect(results.slice(0, 3)).toEqual(['3', '4', '5'])
    for (const content of results.slice(3)) {
      expect(content).toContain(
        'Error (limit_reached): All 3 tool calls of this run are used up, and this one was not run.',
      )
    }
    expect(outcome.toolCalls).toEqual({ total: 3, failed: 0 })
    expect(outcome.stoppedBy?.limit).toBe('toolCalls')
  })

  it('counts calls of one reply that ask for the same once', async () => {
    const { add, outcome } = await run([sums(1, 1, 2), 'enough'], 3)
    expect(add.runs).toHaveLength(2)
    expect(outcome.stoppedBy).toBeUndefined()
  })

  it('asks nobody to approve what would not run', async () => {
    const add = { ...countingAdd(), needsApproval: (args: unknown) => (args as { a: number }).a > 1 }
    const model = scriptedModel([sums(1, 2), 'closing'])
    const outcome = await createAgent({ model, tools: [add], limits: { toolCalls: 1 } }).run('go')
    expect(expectDone(outcome).stoppedBy?.limit).toBe('toolCalls')
  })
})
