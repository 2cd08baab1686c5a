import { type AgentEvent, defineTool, type Message, ModelError, openaiChat } from 'loopchart'
import { HANG, type ScriptedStep, scriptedModel } from 'loopchart/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { completion, loopback } from '../../../test/support/loopback.ts'
import { expectAborted, expectDone } from '../../../test/support/outcome.ts'
import { printedWithoutKey } from '../../../test/support/printed.ts'
import { agentExecutor, intermediateSteps, main, STOPPED } from './agentExecutor.ts'

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ n: z.number() }),
  run: ({ n }) => `result ${n}`,
})
const tools = [look]
const act = (n: number): string => JSON.stringify({ action: 'look', action_input: { n } })
const acts = (count: number): ScriptedStep[] => Array.from({ length: count }, (_, n) => act(n))
const answer = JSON.stringify({ final_answer: 'enough' })
const notes = (messages: readonly Message[] | undefined): unknown => messages?.at(-1)?.content

describe('the recipe agent-executor', () => {
  it('stops after 15 iterations by default, by force: no further call, and the fixed sentence', async () => {
    const model = scriptedModel(acts(16))
    const outcome = expectAborted(await agentExecutor(model, { tools }).run('go'))
    expect(model.requests).toHaveLength(15)
    expect(outcome).toMatchObject({
      reason: 'limit',
      partial: STOPPED,
      stoppedBy: { limit: 'steps', max: 15 },
    })
  })

  it('stops after as many as max_iterations says', async () => {
    const model = scriptedModel(acts(3))
    expectAborted(await agentExecutor(model, { tools, maxIterations: 2 }).run('go'))
    expect(model.requests).toHaveLength(2)
  })

  it('generates an answer in one more call where early_stopping_method says so', async () => {
    const model = scriptedModel([...acts(2), answer])
    const agent = agentExecutor(model, { tools, maxIterations: 2, earlyStopping: 'generate' })
    expect(expectDone(await agent.run('go'))).toMatchObject({
      output: 'enough',
      steps: 2,
      stoppedBy: { limit: 'steps', max: 2 },
    })
  })

  it.each([
    [true, /^go\n\nYour last reply was discarded: .*Reply with exactly one JSON object/],
    [(problem: string) => `Check your output! ${problem}`, /^go\n\nCheck your output! Your last reply/],
    ['JSON, please.', /^go\n\nJSON, please\.$/],
  ])('with handle_parsing_errors %s tells the model, and goes on', async (handleParsingErrors, told) => {
    const model = scriptedModel(['I think so.', 'Hm.', 'Well.', 'So.', 'No.', answer])
    const outcome = expectDone(await agentExecutor(model, { tools, handleParsingErrors }).run('go'))
    expect(outcome.output).toBe('enough')
    expect(model.requests).toHaveLength(6)
    for (const { messages } of model.requests.slice(1)) expect(notes(messages)).toMatch(told)
  })

  it('without handle_parsing_errors ends at the first reply that cannot be read', async () => {
    const model = scriptedModel(['I think so.', answer])
    const outcome = expectAborted(await agentExecutor(model, { tools }).run('go'))
    expect(outcome).toMatchObject({ reason: 'malformed_response', stoppedBy: { limit: 'malformed', max: 1 } })
    expect(model.requests).toHaveLength(1)
  })

  it('returns the intermediate steps', async () => {
    const outcome = await agentExecutor(scriptedModel([...acts(2), answer]), { tools }).run('go')
    expect(intermediateSteps(outcome.transcript)).toEqual([
      ['look', '{"n":0}', 'result 0'],
      ['look', '{"n":1}', 'result 1'],
    ])
  })

  it('calls back as on_llm_start, on_llm_end, on_tool_start, on_tool_end and on_agent_finish do', async () => {
    const types: string[] = []
    await agentExecutor(scriptedModel([act(0), answer]), { tools }).run('go', {
      onEvent: ({ type }) => /^(model|tool|run)\.(started|finished)$/.test(type) && types.push(type),
    })
    expect(types).toEqual([
      'run.started',
      ...['model.started', 'model.finished', 'tool.started', 'tool.finished'],
      ...['model.started', 'model.finished'],
      'run.finished',
    ])
  })

  it('calls back as on_llm_new_token, on_llm_error and on_tool_error do', async () => {
    const broken = defineTool({
      name: 'look',
      description: 'Fails.',
      input: z.object({ n: z.number() }),
      run: () => {
        throw new Error('out of order')
      },
    })
    const down = new ModelError('bad_request', 'no such model', { retryable: false })
    const events: AgentEvent[] = []
    const onEvent = (event: AgentEvent): unknown => events.push(event)
    await agentExecutor(scriptedModel([act(0), answer]), { tools: [broken] }).run('go', { onEvent })
    await agentExecutor(scriptedModel([down]), { tools }).run('go', { onEvent })
    const tokens = events.flatMap((event) => (event.type === 'model.delta' ? [event.text] : []))
    expect(tokens.join(''), 'of the answer, not of the JSON around it').toBe('enough')
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool.finished', error: 'failed' }))
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'model.failed',
        error: expect.objectContaining({ code: 'bad_request' }),
      }),
    )
  })

  it('stops by force at iterations and time only: a model that repeats itself still answers', async () => {
    const model = scriptedModel([...Array(3).fill(act(1)), answer])
    const outcome = expectDone(await agentExecutor(model, { tools }).run('go'))
    expect(outcome).toMatchObject({ output: 'enough', stoppedBy: { limit: 'repeats' } })
  })

  it('runs over HTTP on a server that knows no tool calling', async () => {
    const server = await loopback([completion({ content: act(7) }), completion({ content: answer })])
    const model = openaiChat('m', { baseURL: server.baseURL })
    const outcome = expectDone(await agentExecutor(model, { tools }).run('go'))
    await server[Symbol.asyncDispose]()
    expect(outcome.output).toBe('enough')
    expect(server.requests[1]?.body.messages).toContainEqual({
      role: 'user',
      content: 'Observation from look: result 7',
    })
  })

  describe('with max_execution_time', () => {
    beforeEach(() => void vi.useFakeTimers())
    afterEach(() => void vi.useRealTimers())

    it('stops by force when it is over, whatever is under way', async () => {
      const running = agentExecutor(scriptedModel([act(0), HANG]), { tools, maxExecutionMs: 60_000 }).run(
        'go',
      )
      await vi.advanceTimersByTimeAsync(60_000)
      expect(expectAborted(await running)).toMatchObject({
        reason: 'timeout',
        partial: STOPPED,
        durationMs: 60_000,
      })
    })

    it('generates an answer while there is time for it', async () => {
      const model = scriptedModel([act(0), HANG, answer])
      const running = agentExecutor(model, { tools, maxExecutionMs: 60_000, earlyStopping: 'generate' }).run(
        'go',
      )
      await vi.advanceTimersByTimeAsync(48_000)
      expect(expectDone(await running)).toMatchObject({ output: 'enough', stoppedBy: { limit: 'time' } })
    })
  })
})

describe('the program', () => {
  it('runs without a key and without the network', async () => {
    const printed = await printedWithoutKey(main)
    expect(printed.flat()).toContain('It is 152.')
    expect(printed.at(-1)).toEqual([
      [['calculate', '{"expression":"15*8+32"}', expect.stringContaining('152')]],
    ])
  })
})
