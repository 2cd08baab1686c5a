import { describe, expect, it } from 'vitest'
import { createAgent, memoryJournal } from '../../../src/index.ts'
import { type ScriptedReply, scriptedModel } from '../../../src/testing/index.ts'
import { expectAborted, expectDone, expectSendable } from '../../support/outcome.ts'
import { countingAdd, deaf } from '../../support/tools.ts'

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

  it('counts no calls of a reply that was cut off: they did not run', async () => {
    const { add, outcome } = await run([{ ...sums(1, 2), finish: 'length' }, sums(1), 'enough'], 2)
    expect(add.runs).toHaveLength(1)
    expect(outcome).toMatchObject({ toolCalls: { total: 1, failed: 0 }, output: 'enough' })
    expect(outcome.stoppedBy).toBeUndefined()
  })

  describe('where a person decides', () => {
    const waiting = async (script: readonly (ScriptedReply | string)[]) => {
      const add = { ...countingAdd(), needsApproval: true }
      const model = scriptedModel(script)
      const agent = createAgent({ model, tools: [add], limits: { toolCalls: 1 }, journal: memoryJournal() })
      const outcome = await agent.run('go', { runId: 'r' })
      if (outcome.status !== 'waiting') throw new Error(`expected waiting: ${outcome.status}`)
      return { agent, callId: outcome.approvals[0]?.callId ?? '' }
    }

    it('counts no call that was denied', async () => {
      const { agent, callId } = await waiting([sums(1), 'Then not.'])
      const outcome = expectDone(await agent.resume('r', { decisions: [{ callId, approved: false }] }))
      expect(outcome).toMatchObject({ toolCalls: { total: 0, failed: 0 }, output: 'Then not.' })
      expect(outcome.stoppedBy).toBeUndefined()
    })

    it('counts no call that still waited when the run was cancelled', async () => {
      const { agent } = await waiting([sums(1)])
      const outcome = expectAborted(await agent.resume('r', { signal: AbortSignal.abort() }))
      expect(outcome).toMatchObject({ reason: 'cancelled', toolCalls: { total: 0, failed: 0 } })
    })
  })

  it('counts a call that was under way when the run was cancelled, as failed', async () => {
    const run = createAgent({
      model: scriptedModel([{ calls: [{ name: 'deaf' }] }]),
      tools: [deaf()],
    }).stream('go')
    for await (const event of run) if (event.type === 'tool.started') run.abort()
    expect(expectAborted(await run.outcome).toolCalls).toEqual({ total: 1, failed: 1 })
  })

  it('asks nobody to approve what would not run', async () => {
    const add = { ...countingAdd(), needsApproval: (args: unknown) => (args as { a: number }).a > 1 }
    const model = scriptedModel([sums(1, 2), 'closing'])
    const outcome = await createAgent({ model, tools: [add], limits: { toolCalls: 1 } }).run('go')
    expect(expectDone(outcome).stoppedBy?.limit).toBe('toolCalls')
  })
})
