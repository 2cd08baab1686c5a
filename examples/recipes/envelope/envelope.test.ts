import {
  createAgent,
  defineTool,
  findViolations,
  type Message,
  ModelError,
  openaiChat,
  type Tool,
} from 'loopchart'
import { HANG, type ScriptedStep, scriptedModel, simulate } from 'loopchart/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { completion, json, loopback } from '../../../test/support/loopback.ts'
import { expectAborted, expectDone } from '../../../test/support/outcome.ts'
import { printedWithoutKey } from '../../../test/support/printed.ts'
import { envelope, main, reportOf } from './envelope.ts'

const asking = (...cities: readonly unknown[]): ScriptedStep => ({
  calls: cities.map((city) => ({
    name: 'get_weather',
    arguments: typeof city === 'string' ? { city } : city,
  })),
})
const envelopes = (transcript: readonly Message[]): unknown[] =>
  transcript.flatMap((message) => (message.role === 'tool' ? [JSON.parse(message.content)] : []))

describe('the recipe envelope', () => {
  it('puts every tool result into {"success": …}, errors and unknown tools too', async () => {
    const nowhere = { name: 'get_wether', arguments: { city: 'Paris' } }
    const model = scriptedModel([asking('Paris', 'Rome'), { calls: [nowhere] }, '21 °C'])
    const outcome = expectDone(await envelope(model).run('How warm?'))
    expect(envelopes(outcome.transcript)).toEqual([
      { success: true, result: { city: 'Paris', temperature: 21 } },
      { success: false, error: expect.stringContaining('there is no station in Rome') },
      { success: false, error: expect.stringContaining('Available tools: get_weather') },
    ])
  })

  it('gives arguments that are not JSON back as an error with their text', async () => {
    const server = await loopback([
      completion({
        content: null,
        tool_calls: [
          { id: 'c', type: 'function', function: { name: 'get_weather', arguments: '{"city": Paris' } },
        ],
      }),
      completion({ content: 'sorry' }),
    ])
    const outcome = await envelope(openaiChat('m', { baseURL: server.baseURL })).run('How warm?')
    await server[Symbol.asyncDispose]()
    const [refused] = envelopes(outcome.transcript)
    expect(refused).toMatchObject({
      success: false,
      error: expect.stringContaining('You sent: {"city": Paris'),
    })
    expect(server.requests[1]?.body.messages).toContainEqual({
      role: 'tool',
      tool_call_id: 'c',
      content: JSON.stringify(refused),
    })
  })

  it('shows ten turns, and keeps calls and results together', async () => {
    const turn: readonly ScriptedStep[] = [asking('Paris', 'Oslo'), 'fine']
    const model = scriptedModel(Array.from({ length: 12 }, () => turn).flat())
    const conversation = envelope(model).session('s')
    for (let n = 0; n < 12; n++) await conversation.run(`question ${n}`)
    const shown = model.requests.at(-1)?.messages ?? []
    expect(shown.filter(({ role }) => role === 'user')).toHaveLength(10)
    for (const { messages } of model.requests) expect(findViolations(messages)).toEqual([])
  })

  it('asks not to repeat what failed', async () => {
    const model = scriptedModel(['ok'])
    await envelope(model).run('Hello?')
    expect(model.requests[0]?.messages[0]?.content).toContain('Do not repeat a call that failed')
  })

  it('reports how long each step took and why it ended', async () => {
    const reports: (string | undefined)[] = []
    await envelope(scriptedModel([asking('Paris', 'Oslo'), '21 and 9 °C'])).run('How warm?', {
      onEvent: (event) => reports.push(reportOf(event)),
    })
    expect(reports.filter((report) => report !== undefined)).toEqual([
      expect.stringMatching(/^model\.1\.1: \d+ ms, tool_calls, 2 calls$/),
      expect.stringMatching(/^model\.2\.1: \d+ ms, stop, 0 calls$/),
    ])
  })

  describe('with a model that keeps it waiting', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
    afterEach(() => void vi.useRealTimers())

    it('gives each call up after 30 s, and says so in the end', async () => {
      const model = scriptedModel([HANG, HANG, HANG, HANG])
      const waited: number[] = []
      const running = envelope(model).run('Hello?', {
        onEvent: (event) => event.type === 'retry.scheduled' && waited.push(event.delayMs),
      })
      await vi.advanceTimersByTimeAsync(29_999)
      expect(model.requests).toHaveLength(1)
      await vi.advanceTimersByTimeAsync(1 + 1000)
      expect(model.requests).toHaveLength(2)
      await vi.runAllTimersAsync()
      expect(expectAborted(await running)).toMatchObject({
        reason: 'model_error',
        message: 'The model call failed after 4 attempts: scripted did not answer within 30000 ms.',
        error: { code: 'timeout' },
      })
      expect(waited).toEqual([1000, 2000, 4000])
    })

    it('waits out a rate limit exponentially', async () => {
      const busy = new ModelError('rate_limit', 'slow down', { retryable: true, status: 429 })
      const delays: number[] = []
      const running = envelope(scriptedModel([busy, busy, busy, 'hello'])).run('Hello?', {
        onEvent: (event) => event.type === 'retry.scheduled' && delays.push(event.delayMs),
      })
      await vi.runAllTimersAsync()
      expect(expectDone(await running).output).toBe('hello')
      expect(delays).toEqual([1000, 2000, 4000])
    })
  })

  it('waits as long as the server asks for, if it does', async () => {
    const server = await loopback([
      json({ error: { message: 'slow down' } }, 429, { 'retry-after-ms': '1' }),
      completion({ content: 'hello' }),
    ])
    const delays: number[] = []
    const outcome = await envelope(openaiChat('m', { baseURL: server.baseURL })).run('Hello?', {
      onEvent: (event) => event.type === 'retry.scheduled' && delays.push(event.delayMs),
    })
    await server[Symbol.asyncDispose]()
    expect(outcome.status).toBe('done')
    expect(delays).toEqual([1])
  })

  it('runs the calls of one reply at the same time', async () => {
    const arrived = Promise.withResolvers<void>()
    let waiting = 0
    const meeting = defineTool({
      name: 'get_weather',
      description: 'Answers once both calls are there.',
      input: z.object({ city: z.string() }),
      run: async ({ city }) => {
        if (++waiting === 2) arrived.resolve()
        await arrived.promise
        return city
      },
    })
    const outcome = expectDone(
      await envelope(scriptedModel([asking('Paris', 'Oslo'), 'ok']), [meeting]).run('go'),
    )
    expect(outcome.toolCalls).toEqual({ total: 2, failed: 0 })
  })

  it('takes 1.9 s where one call after the other takes 3.2 s: two calls of 1.3 s, two replies of 0.3 s', async () => {
    const { tools = [], ...options } = envelope(scriptedModel([])).options
    const oneByOne = (tools as readonly Tool[]).map((tool) => ({ ...tool, sequential: true }))
    const timed = async (agent: ReturnType<typeof envelope>): Promise<number> => {
      const report = await simulate(agent, {
        runs: 1,
        modelLatencyMs: 300,
        toolLatencyMs: 1300,
        behaviour: ({ call, answer }) => (call === 1 ? asking('Paris', 'Oslo') : answer),
      })
      return report.ms.max
    }
    expect(await timed(createAgent({ ...options, tools: oneByOne }))).toBe(3200)
    expect(await timed(createAgent({ ...options, tools }))).toBe(1900)
  })
})

describe('the program', () => {
  it('runs without a key and without the network', async () => {
    const printed = await printedWithoutKey(main)
    expect(printed.flat()).toEqual([
      expect.stringMatching(/^model\.1\.1: \d+ ms, tool_calls, 2 calls$/),
      expect.stringMatching(/^model\.2\.1: \d+ ms, stop, 0 calls$/),
      expect.stringMatching(/21[\s\S]*9/),
    ])
  })
})
