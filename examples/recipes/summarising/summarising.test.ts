import {
  type AgentEvent,
  defineTool,
  findViolations,
  type Message,
  ModelError,
  openaiChat,
  type Tool,
} from 'loopchart'
import { HANG, type ScriptedReply, type ScriptedStep, scriptedModel } from 'loopchart/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { completion, loopback } from '../../../test/support/loopback.ts'
import { expectAborted, expectDone } from '../../../test/support/outcome.ts'
import { printedWithoutKey } from '../../../test/support/printed.ts'
import { main, summarising } from './summarising.ts'

const calling = (name: string, args: unknown = {}): ScriptedReply => ({ calls: [{ name, arguments: args }] })
const tool = (name: string, run: (args: { n?: number | undefined }) => unknown): Tool =>
  defineTool({ name, description: 'Works.', input: z.object({ n: z.number().optional() }), run })
const look = () => tool('look', ({ n = 0 }) => `result ${n}: ${'as long as results are '.repeat(20)}`)
/** Writes the same notes as often as it is asked. */
const noteTaker = () => scriptedModel(Array(5).fill('The notes.'))
const results = (transcript: readonly Message[]): string[] =>
  transcript.flatMap((message) => (message.role === 'tool' ? [message.content] : []))

describe('the recipe summarising', () => {
  it('folds the oldest exchanges into a running summary once there are more than twelve messages', async () => {
    const summariser = scriptedModel(['The user asked 0 and 1.', 'The user asked 0 to 3.'])
    const model = scriptedModel(
      Array.from({ length: 6 }, (_, n): ScriptedStep[] => [calling('look', { n }), `answer ${n}`]).flat(),
    )
    const conversation = summarising(model, { tools: [look()], summariser }).session('s')
    for (let n = 0; n < 6; n++) expectDone(await conversation.run(`question ${n}`))

    expect(summariser.requests.map(({ messages }) => messages[1]?.content)).toEqual([
      expect.stringMatching(/^<messages>\nuser: question 0[\s\S]*answer 1/),
      expect.stringMatching(/^<notes>\nThe user asked 0 and 1\.\n<\/notes>[\s\S]*question 2/),
    ])
    for (const { messages } of model.requests) {
      expect(findViolations(messages), 'exchanges are whole').toEqual([])
      expect(messages.filter(({ role }) => role !== 'system').length).toBeLessThanOrEqual(13)
    }
    const shown = model.requests.at(-1)?.messages ?? []
    expect(shown.filter(({ content }) => String(content).includes('The user asked 0'))).toEqual([
      {
        role: 'user',
        content: expect.stringMatching(/^Background: notes.*\n<notes>\nThe user asked 0 to 3\./),
      },
    ])
    expect(shown[1]?.content, 'right behind the system message').toMatch(/^Background/)
    expect(new Set(model.requests.map(({ messages }) => messages[0]?.content)).size).toBe(1)
  })

  it('makes no summary at twelve messages, makes one at thirteen, and keeps six', async () => {
    const pair = { calls: [1, 2].map((n) => ({ name: 'look', arguments: { n } })) }
    /** Answers so many questions without a call, and one more in which two calls are made. */
    const talked = async (turns: number) => {
      const summariser = noteTaker()
      const model = scriptedModel([...Array(turns).fill('fine'), pair, 'found'])
      const conversation = summarising(model, { tools: [look()], summariser }).session('s')
      for (let n = 0; n <= turns; n++) expectDone(await conversation.run(`question ${n}`))
      return { shown: model.requests.at(-1)?.messages ?? [], summaries: summariser.requests.length }
    }
    const within = await talked(4)
    expect(within.shown.slice(1), 'the system message aside').toHaveLength(12)
    expect(within.summaries).toBe(0)
    const beyond = await talked(5)
    expect(
      beyond.shown.slice(2).map(({ role }) => role),
      'behind system message and summary',
    ).toEqual([...['user', 'assistant'], ...['user', 'assistant', 'tool', 'tool']])
    expect(beyond.summaries).toBe(1)

    const thirteen = noteTaker()
    const conversation = summarising(scriptedModel(Array(7).fill('fine')), { summariser: thirteen }).session(
      's',
    )
    for (let n = 0; n < 7; n++) await conversation.run(`question ${n}`)
    expect(thirteen.requests).toHaveLength(1)
  })

  it('remembers what was said in few words, in notes that are longer', async () => {
    const notes =
      'The user is called Ada. She lives in Oslo. Nothing was decided, and no question of hers is open.'
    const model = scriptedModel(Array(8).fill('I see.'))
    const conversation = summarising(model, { summariser: scriptedModel(Array(8).fill(notes)) }).session('s')
    for (const said of ['I am Ada.', 'Oslo.', 'Tea.', 'Rain.', 'Cats.', 'Hm.', 'So?', 'My name?'])
      await conversation.run(said)
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('called Ada')
  })

  it('answers the third call with the same signature, and those after it, with a warning in place of running it', async () => {
    const runs: unknown[] = []
    const counting = tool('look', (args) => runs.push(args))
    const model = scriptedModel([...Array(4).fill(calling('look', { n: 1 })), 'enough'])
    const outcome = expectDone(await summarising(model, { tools: [counting] }).run('go'))
    expect(runs).toHaveLength(2)
    expect(results(outcome.transcript).slice(2)).toEqual([
      expect.stringMatching(/^Error \(repeated\): .*not run\.\nYou have asked look for the same 3 times\./),
      expect.stringContaining('for the same 4 times'),
    ])
  })

  it('marks argument errors, tool errors, unknown tools and loop warnings each in its own way', async () => {
    const broken = tool('broken', () => {
      throw new Error('out of order')
    })
    const model = scriptedModel([
      calling('look', { n: 'x' }),
      calling('look', '{"n": '),
      calling('look', { n: 1 }),
      calling('broken'),
      calling('nowhere'),
      ...Array(2).fill(calling('look', { n: 1 })),
      'enough',
    ])
    const outcome = expectDone(
      await summarising(model, { tools: [look(), broken], summariser: noteTaker() }).run('go'),
    )
    expect(results(outcome.transcript).map((content) => /^Error \((\w+)\)/.exec(content)?.[1])).toEqual([
      'invalid_arguments',
      'invalid_json',
      undefined,
      'failed',
      'unknown_tool',
      undefined,
      'repeated',
    ])
  })

  it('asks for a final answer after eight steps, from what there is', async () => {
    const server = await loopback([
      ...Array.from({ length: 8 }, (_, n) =>
        completion({
          content: null,
          tool_calls: [
            { id: `c${n}`, type: 'function', function: { name: 'look', arguments: `{"n":${n}}` } },
          ],
        }),
      ),
      completion({ content: 'What I know.' }),
    ])
    const model = openaiChat('m', { baseURL: server.baseURL })
    const news = tool('look', ({ n = 0 }) => `word${n} `.repeat(3))
    const outcome = expectDone(await summarising(model, { tools: [news], summariser: noteTaker() }).run('go'))
    await server[Symbol.asyncDispose]()
    expect(outcome).toMatchObject({ output: 'What I know.', steps: 8, stoppedBy: { limit: 'steps', max: 8 } })
    const closing = server.requests.at(-1)?.body
    expect(closing).not.toHaveProperty('tools')
    expect((closing?.messages as Message[] | undefined)?.at(-1)?.content).toContain(
      'Give your final answer now',
    )
  })

  describe('with a model that fails', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
    afterEach(() => void vi.useRealTimers())

    it('tries a call three times, with 1 s and 2 s between', async () => {
      const busy = new ModelError('overloaded', 'busy', { retryable: true })
      const events: AgentEvent[] = []
      const model = scriptedModel([busy, busy, 'hello', busy, busy, busy])
      const agent = summarising(model)
      const onEvent = (event: AgentEvent): unknown => events.push(event)
      const answered = agent.run('Hello?', { onEvent })
      await vi.advanceTimersByTimeAsync(2999)
      expect(model.requests).toHaveLength(2)
      await vi.advanceTimersByTimeAsync(1)
      expect(expectDone(await answered).output).toBe('hello')
      expect(events.flatMap((event) => (event.type === 'retry.scheduled' ? [event.delayMs] : []))).toEqual([
        1000, 2000,
      ])
      const failed = agent.run('Hello?')
      await vi.runAllTimersAsync()
      expect(expectAborted(await failed).message).toBe('The model call failed after 3 attempts: busy')
    })

    it('gives a call up after 20 s', async () => {
      const model = scriptedModel([HANG, 'hello'])
      const running = summarising(model).run('Hello?')
      await vi.advanceTimersByTimeAsync(20_999)
      expect(model.requests).toHaveLength(1)
      await vi.advanceTimersByTimeAsync(1)
      expect(expectDone(await running).output).toBe('hello')
    })
  })
})

describe('the program', () => {
  it('runs without a key and without the network', async () => {
    const printed = await printedWithoutKey(main)
    expect(printed.flat()).toEqual([
      expect.stringContaining('18'),
      expect.stringContaining('22'),
      expect.stringContaining('16'),
      '(the summary was brought up to date)',
      expect.stringContaining('14'),
      expect.stringContaining('Sydney'),
    ])
  })
})
