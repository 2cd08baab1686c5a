import { describe, expect, it } from 'vitest'
import { createAgent } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { expectDone } from '../support/outcome.ts'
import { countingAdd, deaf } from '../support/tools.ts'

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
