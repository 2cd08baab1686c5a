import { type AgentEvent, defineTool, type Message, openaiChat, type Tool } from 'loopchart'
import { type ScriptedStep, scriptedModel } from 'loopchart/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { completion, loopback } from '../../../test/support/loopback.ts'
import { expectAborted, expectDone } from '../../../test/support/outcome.ts'
import { printedWithoutKey } from '../../../test/support/printed.ts'
import { MORE_PLEASE, main, patient, shopAgent } from './jsonProtocol.ts'

const act = (action: string, action_input: unknown = {}): string =>
  JSON.stringify({ thought: 'Hm.', action, action_input })
const answer = (final_answer: string): string => JSON.stringify({ thought: 'Done.', final_answer })
const results = (transcript: readonly Message[]): string[] =>
  transcript.flatMap((message) => (message.role === 'tool' ? [message.content] : []))
const tool = (name: string, run: (args: Record<string, unknown>) => unknown): Tool =>
  defineTool({ ...patient, name, description: 'Works.', input: z.looseObject({}), run })

describe('the recipe json-protocol', () => {
  it('asks for one JSON object, and describes the tools as JSON Schema in the prompt', async () => {
    const server = await loopback([
      completion({ content: act('in_stock', { article: 'lamp' }) }),
      completion({ content: answer('12 lamps') }),
    ])
    const outcome = expectDone(await shopAgent(openaiChat('m', { baseURL: server.baseURL })).run('Lamps?'))
    await server[Symbol.asyncDispose]()

    expect(outcome.output).toBe('12 lamps')
    const first = server.requests[0]?.body
    expect(first).not.toHaveProperty('tools')
    expect(first).toMatchObject({ response_format: { type: 'json_object' } })
    const messagesOf = (n: number) => (server.requests[n]?.body.messages ?? []) as Message[]
    const [system] = messagesOf(0)
    for (const part of [
      '"thought"',
      '"action"',
      '"action_input"',
      '"final_answer"',
      'in_stock: How many',
      '"article":{"type":"string"}',
    ])
      expect(system?.content).toContain(part)
    expect(messagesOf(1).at(-1)?.content).toBe('Observation from in_stock: {"article":"lamp","count":12}')
  })

  it('mines what leaves the window of five turns for facts, and merges them by key', async () => {
    const reader = scriptedModel(['{"customer":"Ada","floor":"2nd"}', '{"floor":"3rd","budget":400}'])
    const model = scriptedModel(Array.from({ length: 7 }, (_, n) => answer(`answer ${n}`)))
    const conversation = shopAgent(model, [], reader).session('s')
    for (let n = 0; n < 7; n++)
      await conversation.run(n === 0 ? 'I am Ada, on the 2nd floor.' : `question ${n}`)

    expect(reader.requests.map(({ messages }) => messages[1]?.content)).toEqual([
      expect.stringContaining('I am Ada, on the 2nd floor.'),
      expect.stringMatching(/^<facts>\n\{"customer":"Ada","floor":"2nd"\}[\s\S]*question 1/),
    ])
    const [, block, first] = model.requests.at(-1)?.messages ?? []
    expect(block?.content).toMatch(/^Background: known facts/)
    expect(block?.content).toContain('- customer: Ada\n- floor: 3rd\n- budget: 400')
    expect(`${block?.content}${first?.content}`, 'the recent dialogue stands behind').toContain('question 2')
    expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain('question 1')
  })

  it('answers what is no JSON with a request to repeat it, as often as there are steps', async () => {
    const model = scriptedModel(['Sure!', 'Let me see', '{"thought": "hm"}', answer('12')])
    expect(expectDone(await shopAgent(model).run('Lamps?')).output).toBe('12')
    for (const { messages } of model.requests.slice(1)) {
      expect(messages.at(-1)?.content).toContain('Your last reply was discarded')
      expect(messages.at(-1)?.content).toContain('Reply with exactly one JSON object')
    }
  })

  it('does not run the same call twice, whatever the order of its keys', async () => {
    const runs: unknown[] = []
    const count = tool('count', (args) => runs.push(args))
    const model = scriptedModel([act('count', { a: 1, b: 2 }), act('count', { b: 2, a: 1 }), answer('1')])
    const outcome = expectDone(await shopAgent(model, [count]).run('Count.'))
    expect(runs).toEqual([{ a: 1, b: 2 }])
    expect(results(outcome.transcript)[1]).toMatch(
      /^Error \(repeated\): .*not run\.\n.*\n.*try something else/,
    )
  })

  it('answers an unknown action with those that there are, also where it is asked for again', async () => {
    const model = scriptedModel([act('stock'), act('stock'), answer('?')])
    const outcome = await shopAgent(model).run('Lamps?')
    expect(results(outcome.transcript)).toEqual([
      expect.stringContaining('Available tools: in_stock.'),
      expect.stringContaining('Available tools: in_stock.'),
    ])
  })

  it('cuts a result at 2000 characters', async () => {
    const model = scriptedModel([act('read'), answer('long')])
    const outcome = await shopAgent(model, [tool('read', () => 'x'.repeat(9000))]).run('Read.')
    expect(results(outcome.transcript)[0]?.length).toBeLessThanOrEqual(2000)
    expect(results(outcome.transcript)[0]).toContain('of 9000 characters left out')
  })

  it('asks for more information after eight steps', async () => {
    const steps: ScriptedStep[] = Array.from({ length: 8 }, (_, n) => act('in_stock', { article: `a${n}` }))
    const model = scriptedModel(steps)
    const outcome = expectAborted(await shopAgent(model).run('Anything?'))
    expect(outcome).toMatchObject({ partial: MORE_PLEASE, steps: 8, stoppedBy: { limit: 'steps' } })
    const babbling = scriptedModel(Array.from({ length: 8 }, () => 'Sure!'))
    const babbled = expectAborted(await shopAgent(babbling).run('Anything?'))
    expect(babbled).toMatchObject({ partial: MORE_PLEASE, steps: 8, stoppedBy: { limit: 'steps' } })
  })

  describe('with a tool that fails', () => {
    beforeEach(() => void vi.useFakeTimers())
    afterEach(() => void vi.useRealTimers())

    it('tries it again three times, after 0.5 s, 1 s and 2 s', async () => {
      let runs = 0
      const broken = tool('broken', () => {
        runs++
        throw new Error('out of order')
      })
      const events: AgentEvent[] = []
      const model = scriptedModel([act('broken'), answer('It is out of order.')])
      const running = shopAgent(model, [broken]).run('Go.', { onEvent: (event) => events.push(event) })
      await vi.advanceTimersByTimeAsync(3499)
      expect(runs).toBe(3)
      await vi.advanceTimersByTimeAsync(1)
      expect(runs).toBe(4)
      const outcome = expectDone(await running)
      expect(events.flatMap((event) => (event.type === 'tool.retried' ? [event.delayMs] : []))).toEqual([
        500, 1000, 2000,
      ])
      expect(outcome.toolCalls, 'one call that failed').toEqual({ total: 1, failed: 1 })
    })
  })
})

describe('the program', () => {
  it('runs without a key and without the network', async () => {
    const printed = await printedWithoutKey(main)
    expect(printed).toEqual([['There are 12 lamps.']])
  })
})
