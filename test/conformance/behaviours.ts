import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  type AgentInput,
  type AgentOptions,
  createAgent,
  defineTool,
  type Journal,
  memoryJournal,
  type Outcome,
  type RunOptions,
  type Tool,
  turns,
} from '../../src/index.ts'
import { journalOf } from '../support/journals.ts'
import { expectAborted, expectDone, expectSendable } from '../support/outcome.ts'
import { countingAdd, throwing } from '../support/tools.ts'
import type { MakeModel, Provider, Script, ScriptedCall, Turn } from './script.ts'

export interface LoopOptions {
  /** Whether runs are watched, so that the model streams. */
  readonly streamed?: boolean
  /** Fails where the body of a request is one that such a provider refuses. */
  readonly checkRequest?: (body: unknown) => void
}

/** How many runs go on at once in the test of that. */
const RUNS_AT_ONCE = 20

/**
 * What an agent does whatever kind of model it has: the same list for each kind. A kind is a file beside this one
 * that turns the neutral script into what its provider would send, and calls this function.
 */
export function describeLoop(
  name: string,
  makeModel: MakeModel,
  { streamed = false, checkRequest = () => {} }: LoopOptions = {},
): void {
  /** Runs an agent; where it streams, what is shown must be what comes out. */
  async function run<Output>(
    agent: Agent<Output>,
    input: AgentInput,
    options: RunOptions = {},
  ): Promise<Outcome<Output>> {
    if (!streamed) return agent.run(input, options)
    const running = agent.stream(input, options)
    let shown = ''
    for await (const event of running) {
      if (event.type === 'model.started' || event.type === 'model.reset') shown = ''
      if (event.type === 'model.delta') shown += event.text
    }
    const outcome = await running.outcome
    if (outcome.status === 'done' && typeof outcome.output === 'string') expect(shown).toBe(outcome.output)
    return outcome
  }

  /** Lets an agent with a model of this kind and this script answer once. */
  async function ask(
    script: Script,
    { input = 'go', signal, ...options }: Asking = {},
  ): Promise<{ readonly outcome: Outcome; readonly requests: readonly string[] }> {
    await using provider = await makeModel(script)
    const agent = createAgent({ model: provider.model, tools: [countingAdd()], ...options })
    const outcome = await run(agent, input, signal === undefined ? {} : { signal })
    checkAll(provider)
    expectSendable(outcome)
    return { outcome, requests: provider.requests.map((request) => JSON.stringify(request)) }
  }

  function checkAll({ requests }: Provider): void {
    for (const request of requests) checkRequest(request)
  }

  describe(`a loop with ${name}`, () => {
    it('answers without tools', async () => {
      const { outcome } = await ask([{ answer: 'Hello – 你好 😀 "you"\n{}' }], { tools: [] })
      expect(expectDone(outcome).output).toBe('Hello – 你好 😀 "you"\n{}')
      expect(outcome.steps).toBe(1)
    })

    it('makes a call, observes and answers', async () => {
      const script = [{ calls: [add(1, 2)], saying: 'Let me add.' }, { answer: 'The sum is 3.' }]
      const { outcome, requests } = await ask(script)
      expect(expectDone(outcome).output).toBe('The sum is 3.')
      const id: unknown = expect.stringMatching(/./)
      // A service may keep fields of its own on an assistant message.
      expect(outcome.transcript).toMatchObject([
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: 'Let me add.',
          tool_calls: [{ id, type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }],
        },
        { role: 'tool', tool_call_id: id, content: '3' },
        { role: 'assistant', content: 'The sum is 3.' },
      ])
      expect(requests).toHaveLength(2)
      expect(outcome).toMatchObject({ steps: 2, toolCalls: { total: 1, failed: 0 } })
    })

    it('makes several calls over several steps', async () => {
      const tool = countingAdd()
      const script = [{ calls: [add(1, 2), add(3, 4)] }, { calls: [add(3, 7)] }, { answer: '10' }]
      const { outcome } = await ask(script, { tools: [tool] })
      expect(expectDone(outcome).output).toBe('10')
      expect(resultsOf(outcome)).toEqual(['3', '7', '10'])
      expect(tool.runs).toEqual([
        { a: 1, b: 2 },
        { a: 3, b: 4 },
        { a: 3, b: 7 },
      ])
    })

    it('names the tools that there are, where the model calls another one', async () => {
      const script = [{ calls: [{ name: 'subtract', arguments: {} }] }, { answer: 'I see.' }]
      const { outcome, requests } = await ask(script)
      expectDone(outcome)
      const result = expect.stringContaining(
        'Error (unknown_tool): There is no tool named "subtract". Available tools: add.',
      )
      expect(resultsOf(outcome)).toEqual([result])
      expect(requests[1]).toContain('Available tools: add.')
    })

    it('gives arguments that do not fit back, and takes better ones', async () => {
      const tool = countingAdd()
      const wrong = { name: 'add', arguments: { a: 'one' } }
      const { outcome } = await ask([{ calls: [wrong] }, { calls: [add(1, 2)] }, { answer: '3' }], {
        tools: [tool],
      })
      expectDone(outcome)
      expect(tool.runs).toEqual([{ a: 1, b: 2 }])
      expect(resultsOf(outcome)).toEqual([expect.stringContaining('Error (invalid_arguments)'), '3'])
    })

    it('gives back what a tool throws', async () => {
      const { outcome, requests } = await ask([{ calls: [fail] }, { answer: 'It broke.' }], {
        tools: [throwing(new RangeError('too "big"'))],
      })
      expectDone(outcome)
      expect(resultsOf(outcome)).toEqual([
        expect.stringContaining('Error (failed): fail failed: RangeError: too "big"'),
      ])
      expect(requests[1]).toContain('RangeError: too ')
    })

    it('concludes with an answer at the limit of steps', async () => {
      const { outcome, requests } = await ask(
        [{ calls: [add(1, 2)] }, { calls: [add(3, 4)] }, { answer: 'So far: 7.' }],
        { limits: { steps: 2 } },
      )
      expect(expectDone(outcome)).toMatchObject({ output: 'So far: 7.', stoppedBy: { limit: 'steps' } })
      expect(requests.map((request) => request.includes('Adds two numbers.'))).toEqual([true, true, false])
    })

    it('concludes with an answer after a streak of errors', async () => {
      const { outcome } = await ask([{ calls: [fail] }, { calls: [fail] }, { answer: 'I cannot.' }], {
        tools: [throwing(new Error('no'))],
        limits: { errorStreak: 2 },
      })
      expect(expectDone(outcome)).toMatchObject({ output: 'I cannot.', stoppedBy: { limit: 'errorStreak' } })
    })

    it('asks again after an empty reply, then gives up', async () => {
      const { outcome, requests } = await ask([{ empty: true }, { empty: true }])
      expect(expectAborted(outcome).reason).toBe('empty_response')
      expect(requests).toHaveLength(2)
      expect(requests[1]).toContain('Your last reply was empty.')
      expect(expectDone((await ask([{ empty: true }, { answer: 'Here.' }])).outcome).output).toBe('Here.')
    })

    it('runs no call of a reply that was cut off', async () => {
      const tool = countingAdd()
      const { outcome } = await ask(
        [{ calls: [add(1, 22)], cut: true }, { calls: [add(1, 2)] }, { answer: '3' }],
        { tools: [tool] },
      )
      expectDone(outcome)
      expect(tool.runs).toEqual([{ a: 1, b: 2 }])
    })

    it('is aborted while the model thinks', async () => {
      const controller = new AbortController()
      const script = (): Turn => {
        controller.abort(new Error('enough'))
        return { hangs: true }
      }
      const { outcome } = await ask(script, { signal: controller.signal })
      expect(expectAborted(outcome)).toMatchObject({ reason: 'cancelled', message: 'enough' })
    })

    it('is aborted while a tool runs, and the conversation can go on', async () => {
      const controller = new AbortController()
      const script = [{ calls: [{ name: 'wait', arguments: {} }] }]
      const tools = [deafOnce(() => controller.abort())]
      const { outcome } = await ask(script, { tools, signal: controller.signal })
      expect(expectAborted(outcome).reason).toBe('cancelled')
      expect(resultsOf(outcome)).toEqual([expect.stringContaining('Error (cancelled)')])
      const input = [...outcome.transcript, { role: 'user', content: 'And now?' } as const]
      const next = await ask([{ answer: 'Now this.' }], { tools, input })
      expect(expectDone(next.outcome).output).toBe('Now this.')
    })

    it('keeps runs that go on at once apart', async () => {
      const script = (request: string): Turn => {
        const n = Number(/question (\d+)/.exec(request)?.[1])
        return request.includes(`sum of ${n}: ${n + 1000}`)
          ? { answer: `Answer ${n}` }
          : { calls: [{ name: 'sum', arguments: { n } }] }
      }
      await using provider = await makeModel(script)
      const sum = defineTool({
        name: 'sum',
        description: 'Adds 1000.',
        input: z.object({ n: z.number() }),
        run: ({ n }) => `sum of ${n}: ${n + 1000}`,
      })
      const agent = createAgent({ model: provider.model, tools: [sum] })
      const numbers = Array.from({ length: RUNS_AT_ONCE }, (_, i) => i + 100)
      const outcomes = await Promise.all(numbers.map((n) => run(agent, `question ${n}`)))
      expect(outcomes.map((outcome) => expectDone(outcome).output)).toEqual(numbers.map((n) => `Answer ${n}`))
      expect(provider.requests).toHaveLength(2 * RUNS_AT_ONCE)
      checkAll(provider)
    })

    it('shows the model the turns that its memory keeps, and forgets none in the transcript', async () => {
      const input = [
        { role: 'user', content: 'old question' },
        { role: 'assistant', content: 'old answer' },
        { role: 'user', content: 'new question' },
      ] as const
      const { outcome, requests } = await ask([{ calls: [add(1, 2)] }, { answer: '3' }], {
        input,
        memory: turns(1),
      })
      expectDone(outcome)
      expect(requests.map((request) => request.includes('old'))).toEqual([false, false])
      expect(requests.map((request) => request.includes('new question'))).toEqual([true, true])
      expect(outcome.transcript.slice(0, 3)).toEqual(input)
      expect(outcome.transcript).toHaveLength(6)
    })

    it('is resumed from its journal, and does nothing twice', async () => {
      const tool = countingAdd()
      const journal = memoryJournal()
      await using first = await makeModel([{ calls: [add(1, 2)] }, { answer: 'It is 3.' }])
      const whole = await run(createAgent({ model: first.model, tools: [tool], journal }), 'go', {
        runId: 'r',
      })
      await using second = await makeModel([{ answer: 'It is 3.' }])
      const cut = await untilResult(journal)
      const resumed = await createAgent({ model: second.model, tools: [tool], journal: cut }).resume('r')
      expect(expectDone(resumed).transcript).toEqual(expectDone(whole).transcript)
      expect(tool.runs).toHaveLength(1)
      expect(second.requests).toHaveLength(1)
      checkAll(second)
    })

    it('answers in the form that was asked for', async () => {
      await using provider = await makeModel([
        { calls: [add(1, 2)] },
        { answer: '{"sum":"three"}' },
        { answer: '{"sum":3}' },
      ])
      const output = z.object({ sum: z.number() })
      const agent = createAgent({ model: provider.model, tools: [countingAdd()], output })
      expect(expectDone(await run(agent, 'go')).output).toEqual({ sum: 3 })
      checkAll(provider)
    })
  })
}

type Asking = Partial<Omit<AgentOptions, 'model' | 'output'>> & {
  readonly input?: AgentInput
  readonly signal?: AbortSignal
}

function add(a: number, b: number): ScriptedCall {
  return { name: 'add', arguments: { a, b } }
}

const fail: ScriptedCall = { name: 'fail', arguments: {} }

function resultsOf({ transcript }: Outcome): readonly string[] {
  return transcript.flatMap((message) => (message.role === 'tool' ? [message.content] : []))
}

/** A tool that never settles and does not listen, but tells when it is called. */
function deafOnce(called: () => void): Tool {
  return defineTool({
    name: 'wait',
    description: 'Never settles.',
    input: z.object({}),
    run: () => {
      called()
      return new Promise(() => {})
    },
  })
}

/** The journal as a crash right after the result of the tool would have left it. */
async function untilResult(journal: Journal): Promise<Journal> {
  const entries = (await journal.load('r')) ?? []
  const result = entries.findIndex(
    (entry) =>
      entry.type === 'event' && entry.event.type === 'settled' && entry.event.place.startsWith('tool.'),
  )
  return journalOf(entries.slice(0, result + 1))
}
