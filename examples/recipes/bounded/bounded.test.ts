import { type AgentEvent, countTokens, defineTool, type Message, openaiChat, type Tool } from 'loopchart'
import { type ScriptedReply, type ScriptedStep, scriptedModel } from 'loopchart/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { type Answer, completion, loopback } from '../../../test/support/loopback.ts'
import { expectAborted, expectDone } from '../../../test/support/outcome.ts'
import { printedWithoutKey } from '../../../test/support/printed.ts'
import { bounded, main, patient, weather } from './bounded.ts'

const calling = (name: string, args: unknown = {}): ScriptedReply => ({ calls: [{ name, arguments: args }] })
const tool = (name: string, run: (args: Record<string, unknown>) => unknown): Tool =>
  defineTool({ ...patient, name, description: 'Works.', input: z.looseObject({}), run })
const registryOf = (...tools: readonly Tool[]): Map<string, Tool> =>
  new Map(tools.map((tool) => [tool.name, tool]))
const results = (transcript: readonly Message[]): string[] =>
  transcript.flatMap((message) => (message.role === 'tool' ? [message.content] : []))

const retriesIn = (events: readonly AgentEvent[]): { delayMs: number }[] =>
  events.flatMap((event) => (event.type === 'tool.retried' ? [{ delayMs: event.delayMs }] : []))

describe('the recipe bounded', () => {
  it('offers what is in the registry when a step begins', async () => {
    const registry = registryOf()
    const unlock = tool('unlock', () => {
      registry.set(weather.name, weather).delete('unlock')
      return 'unlocked'
    })
    registry.set(unlock.name, unlock)
    const model = scriptedModel([calling('unlock'), calling('get_weather', { city: 'Oslo' }), '9 °C'])
    const outcome = expectDone(await bounded(model, registry).run('How warm is Oslo?'))
    expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ['unlock'],
      ['get_weather'],
      ['get_weather'],
    ])
    expect(outcome.toolCalls).toEqual({ total: 2, failed: 0 })
  })

  it('keeps to 2000 tokens: the system message, the last exchange, and one line for what is between', async () => {
    const history = Array.from({ length: 30 }, (_, n): Message[] => [
      { role: 'user', content: `question ${n}` },
      { role: 'assistant', content: `answer ${n} ${'word '.repeat(150)}` },
    ]).flat()
    const model = scriptedModel([calling('get_weather', { city: 'Oslo' }), '9 °C'])
    await bounded(model, registryOf(weather)).run([
      ...history,
      { role: 'user', content: 'How warm is Oslo?' },
    ])
    const shown = model.requests[1]?.messages ?? []
    const counted = shown.reduce((sum, { content }) => sum + countTokens(String(content ?? '')), 0)
    expect(counted).toBeLessThan(2000)
    expect(counted, 'as much as fits').toBeGreaterThan(1500)
    expect(shown.slice(0, 2)).toEqual([
      { role: 'system', content: 'Answer briefly.' },
      {
        role: 'user',
        content: expect.stringMatching(/^Background, .*: \d+ earlier messages are left out; asked was .*$/),
      },
    ])
    expect(shown.slice(-3).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(shown.at(-3)?.content).toBe('How warm is Oslo?')
  })

  it('makes at most five steps, then answers', async () => {
    const model = scriptedModel([...[1, 2, 3, 4, 5].map((n) => calling('look', { n })), 'closing'])
    const outcome = expectDone(await bounded(model, registryOf(tool('look', ({ n }) => n))).run('go'))
    expect(outcome).toMatchObject({ output: 'closing', steps: 5, stoppedBy: { limit: 'steps' } })
  })

  it('ends with an error where the same call is made twice running, and does not run it again', async () => {
    let runs = 0
    const look = tool('look', () => ++runs)
    const model = scriptedModel([calling('look', { a: 1, b: 2 }), calling('look', { b: 2, a: 1 })])
    const outcome = expectAborted(await bounded(model, registryOf(look)).run('go'))
    expect(outcome).toMatchObject({
      reason: 'limit',
      message: 'look was called 2 times with the same arguments',
      stoppedBy: { limit: 'sameCalls' },
    })
    expect(runs).toBe(1)
    const apart = scriptedModel([calling('look'), calling('look', { n: 1 }), calling('look'), 'fine'])
    expect(expectDone(await bounded(apart, registryOf(look)).run('go')).output).toBe('fine')
  })

  it('ends where the results of a step bring nothing new, be it in four words of five', async () => {
    const page = Array.from({ length: 60 }, (_, n) => `word${n}`)
    const search = tool('search', ({ q }) =>
      (q === 1 ? page : [...page.slice(5), 'and', 'a', 'few', 'more', 'words']).join(' '),
    )
    const model = scriptedModel([calling('search', { q: 1 }), calling('search', { q: 2 }), 'what I know'])
    const outcome = expectDone(await bounded(model, registryOf(search)).run('go'))
    expect(outcome).toMatchObject({ output: 'what I know', steps: 2, stoppedBy: { limit: 'stagnation' } })
    const other = tool('search', ({ q }) => page.map((word) => `${word}${q}`).join(' '))
    const news = scriptedModel([calling('search', { q: 1 }), calling('search', { q: 2 }), 'done'])
    expect(expectDone(await bounded(news, registryOf(other)).run('go')).stoppedBy).toBeUndefined()
  })

  it.each([
    [0.75, 'goes on'],
    [0.79, 'goes on'],
    [0.81, 'ends'],
    [0.85, 'ends'],
  ])('takes a result of which the share %f is known for one after which it %s', async (share, what) => {
    // 102 words have 100 runs of three; where so many words and two more are known, that is the share of the runs.
    const known = 100 * share + 2
    const search = tool('search', ({ q }) =>
      Array.from({ length: 102 }, (_, n) => (q === 'a' || n < known ? `word${n}` : `news${n}`)).join(' '),
    )
    const model = scriptedModel([calling('search', { q: 'a' }), calling('search', { q: 'b' }), 'an answer'])
    const outcome = expectDone(await bounded(model, registryOf(search)).run('go'))
    expect(outcome.stoppedBy?.limit).toBe(what === 'ends' ? 'stagnation' : undefined)
  })

  it('ends, too, where it is a failing call that is made twice running', async () => {
    const broken = tool('broken', () => {
      throw new Error('out of order')
    })
    const model = scriptedModel([calling('broken'), calling('broken')])
    const outcome = expectAborted(await bounded(model, registryOf(broken)).run('go'))
    expect(outcome.stoppedBy?.limit).toBe('sameCalls')
  })

  describe('with tools that fail', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
    afterEach(() => void vi.useRealTimers())

    /** Runs until nothing but the answer is left to wait for. */
    async function run(registry: ReadonlyMap<string, Tool>, steps: readonly ScriptedStep[]) {
      const events: AgentEvent[] = []
      const model = scriptedModel(steps)
      const running = bounded(model, registry).run('go', { onEvent: (event) => events.push(event) })
      await vi.runAllTimersAsync()
      return { outcome: expectDone(await running), model, events }
    }

    it('tries a call once more by itself, at once', async () => {
      let runs = 0
      const flaky = tool('flaky', () => {
        if (++runs === 1) throw new Error('a hiccup')
        return 'fine'
      })
      const { outcome, events } = await run(registryOf(flaky), [calling('flaky'), 'fine'])
      expect(outcome.toolCalls).toEqual({ total: 1, failed: 0 })
      expect(retriesIn(events)).toEqual([{ delayMs: 0 }])
    })

    it('tries it once more only', async () => {
      let runs = 0
      const broken = tool('broken', () => {
        runs++
        throw new Error('out of order')
      })
      const { outcome } = await run(registryOf(broken), [calling('broken'), 'sorry'])
      expect(outcome.toolCalls).toEqual({ total: 1, failed: 1 })
      expect(runs).toBe(2)
    })

    it('degrades to a direct answer without tools after failures in a row', async () => {
      const broken = tool('broken', () => {
        throw new Error('out of order')
      })
      const { outcome, model } = await run(registryOf(broken), [
        calling('broken', { n: 1 }),
        calling('broken', { n: 2 }),
        'Without the tool: no idea.',
      ])
      expect(outcome).toMatchObject({
        output: 'Without the tool: no idea.',
        stoppedBy: { limit: 'errorStreak' },
      })
      expect(model.requests.at(-1)).toMatchObject({ tools: [], toolChoice: 'none' })
    })

    it('tells an unknown tool, invalid arguments and a network timeout apart', async () => {
      const asked = Promise.withResolvers<void>()
      const silent: Answer = () => asked.resolve()
      const call = (name: string, args: string) => ({
        id: '',
        type: 'function',
        function: { name, arguments: args },
      })
      const server = await loopback([
        completion({
          content: null,
          tool_calls: [call('nowhere', '{}'), call('get_weather', '{"city":7}'), call('fetch_page', '{}')],
        }),
        silent,
        completion({ content: 'sorry' }),
      ])
      const page = defineTool({
        ...patient,
        name: 'fetch_page',
        description: 'Fetches a page.',
        input: z.object({}),
        run: async (_args, { signal }) => (await fetch(server.baseURL, { signal })).text(),
      })
      const model = openaiChat('m', { baseURL: server.baseURL })
      const running = bounded(model, registryOf(weather, page)).run('go')
      await asked.promise
      await vi.advanceTimersByTimeAsync(10_000)
      const outcome = await running
      await server[Symbol.asyncDispose]()
      expect(results(outcome.transcript).map((content) => content.split('\n')[0])).toEqual([
        expect.stringMatching(/^Error \(unknown_tool\): /),
        expect.stringMatching(/^Error \(invalid_arguments\): /),
        expect.stringMatching(/^Error \(timeout\): fetch_page did not finish within 10000 ms/),
      ])
    })
  })
})

describe('the program', () => {
  it('runs without a key and without the network, and misses the tool that was removed', async () => {
    const printed = await printedWithoutKey(main)
    expect(printed.flat()).toEqual([
      expect.stringContaining('21'),
      expect.stringContaining('could not find out the weather in Oslo'),
    ])
  })
})
