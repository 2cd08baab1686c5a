import { describe, expect, it } from 'vitest'
import { createAgent, memoryJournal } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { expectDone, rejectionOf } from '../support/outcome.ts'
import { countingAdd, deaf } from '../support/tools.ts'

describe('the id of a run', () => {
  it.each([5, null, {}, ''])('is a text, not %j', async (runId) => {
    const agent = createAgent({ model: scriptedModel([]), journal: memoryJournal() })
    const id = runId as string
    // One that is left out is chosen by the agent, and `null` is taken for that.
    const ofNewRuns =
      runId === null ? [] : [agent.run('go', { runId: id }), agent.fork('r', { at: 1, runId: id })]
    for (const refused of [agent.resume(id), agent.replay(id), ...ofNewRuns]) {
      const error = await rejectionOf(refused.then(String))
      expect(error).toMatchObject({
        code: 'invalid_option',
        message: expect.stringContaining('must be a text'),
      })
    }
  })
})

describe('agent.options', () => {
  it('make an agent that differs in one thing', async () => {
    const agent = createAgent({ model: scriptedModel([]), instructions: 'Be brief.', limits: { steps: 3 } })
    const model = scriptedModel(['hello'])
    const other = createAgent({ ...agent.options, model })
    expect(expectDone(await other.run('hi')).output).toBe('hello')
    expect(model.requests[0]?.messages[0]).toEqual({ role: 'system', content: 'Be brief.' })
    expect(other.options.limits).toEqual({ steps: 3 })
  })

  it('have the tools that the agent has now', () => {
    const agent = createAgent({ model: scriptedModel([]), tools: [deaf()] })
    agent.tools.add(countingAdd())
    agent.tools.remove('deaf')
    const { tools } = createAgent({ ...agent.options })
    expect(tools.names).toEqual(['add'])
  })

  it('have the function that chooses the tools, where one does', () => {
    const tools = () => [deaf()]
    expect(createAgent({ model: scriptedModel([]), tools }).options.tools).toBe(tools)
  })
})
