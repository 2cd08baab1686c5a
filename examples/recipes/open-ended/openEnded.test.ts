import { openaiChat } from 'loopchart'
import { type ScriptedStep, scriptedModel } from 'loopchart/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { completion, loopback } from '../../../test/support/loopback.ts'
import { expectDone, expectSendable } from '../../../test/support/outcome.ts'
import { main, openEnded, restless, unlimited } from './openEnded.ts'

const GOAL = 'Write a slogan.'

/** How many model calls a run makes, the closing one included. */
async function run(...agent: Parameters<typeof openEnded>) {
  let modelCalls = 0
  const outcome = await openEnded(...agent).run(GOAL, {
    onEvent: ({ type }) => type === 'model.finished' && modelCalls++,
  })
  expectSendable(outcome)
  return { modelCalls, outcome: expectDone(outcome) }
}

describe('the recipe open-ended', () => {
  it('goes on for 25 model calls where nothing but contentment ends it', async () => {
    const { modelCalls, outcome } = await run(restless(), unlimited)
    expect(modelCalls).toBe(25)
    expect(outcome).toMatchObject({ output: 'Two wheels, no worries.', toolCalls: { total: 24, failed: 0 } })
    expect(outcome.stoppedBy).toBeUndefined()
  })

  it('ends with an answer after 6 model calls under the limits that every agent has', async () => {
    const { modelCalls, outcome } = await run(restless())
    expect(modelCalls).toBe(6)
    expect(outcome).toMatchObject({
      output: 'Two wheels, no worries.',
      toolCalls: { total: 5, failed: 0 },
      stoppedBy: {
        limit: 'repeats',
        evidence: 'draft was called 3 times with the same arguments and brought nothing new',
      },
    })
  })

  it('is told of the repetition before it ends', async () => {
    const { outcome } = await run(restless())
    const results = outcome.transcript.filter(({ role }) => role === 'tool').map(({ content }) => content)
    expect(results[2]).toContain('with the same arguments 2 times without learning anything new')
  })

  it('ends all the same where the model words its calls anew each time', async () => {
    const tools = ['draft', 'review']
    const steps: ScriptedStep[] = Array.from({ length: 24 }, (_, n) => ({ toolChoice }) => {
      const [name = ''] = n % 2 === 0 ? tools : tools.toReversed()
      const words = `wording number ${n}`
      return toolChoice === 'none'
        ? 'enough'
        : { calls: [{ name, arguments: { topic: words, criterion: words } }] }
    })
    const { modelCalls, outcome } = await run(scriptedModel(steps))
    expect(modelCalls).toBe(9)
    expect(outcome).toMatchObject({ output: 'enough', stoppedBy: { limit: 'steps' } })
  })

  it('asks over HTTP for the closing answer without tools', async () => {
    const call = (name: string, args: string) =>
      completion({
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name, arguments: args } }],
      })
    const [back, forth] = [call('draft', '{"topic":"x"}'), call('review', '{"criterion":"y"}')]
    const server = await loopback([back, forth, back, forth, back, completion({ content: 'This one.' })])
    const { outcome } = await run(openaiChat('m', { baseURL: server.baseURL }))
    await server[Symbol.asyncDispose]()
    expect(outcome.output).toBe('This one.')
    expect(server.requests).toHaveLength(6)
    expect(server.requests[0]?.body).toHaveProperty('tools')
    expect(server.requests[5]?.body).not.toHaveProperty('tools')
  })
})

describe('the program', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('shows both runs', async () => {
    const printed = vi.spyOn(console, 'log').mockReturnValue()
    await main()
    expect(printed.mock.calls).toEqual([
      ['Without limits:', 'done after 25 model calls'],
      ['Two wheels, no worries.', ''],
      ['With limits:', 'done after 6 model calls'],
      ['Two wheels, no worries.', 'draft was called 3 times with the same arguments and brought nothing new'],
    ])
  })
})
