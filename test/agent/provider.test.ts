import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import {
  type AgentEvent,
  createAgent,
  type Memory,
  type Message,
  ModelError,
  openaiChat,
} from '../../src/index.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { type Answer, chunk, completion, loopback, sse } from '../support/loopback.ts'
import { expectAborted, expectDone } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'

const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
const tooLong = new ModelError('context_too_long', 'too long', { retryable: false, status: 400 })

/** The pieces of text that a consumer sees, with a sign where they are void. */
async function shown(run: AsyncIterable<AgentEvent>): Promise<string[]> {
  const pieces: string[] = []
  for await (const event of run) {
    if (event.type === 'model.delta') pieces.push(event.text)
    if (event.type === 'model.reset') pieces.push('⟲')
  }
  return pieces
}

describe('text that was shown', () => {
  it('is taken back before a retry, so that nobody doubles it', async () => {
    const breaking: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify(chunk({ content: 'Hel' }))}\n\n`, () => response.destroy())
    }
    await using server = await loopback([breaking, sse([chunk({ content: 'Hello.' }, 'stop')])])
    const run = createAgent({ model: openaiChat('m', { baseURL: server.baseURL }) }).stream('hi')
    expect(await shown(run)).toEqual(['Hel', '⟲', 'Hello.'])
    expect(expectDone(await run.outcome).output).toBe('Hello.')
  })

  it('is taken back where the reply was cut off and is asked for again', async () => {
    const model = scriptedModel([{ text: 'Too long', finish: 'length' }, 'Short.'])
    expect(await shown(createAgent({ model }).stream('hi'))).toEqual(['Too ', 'long', '⟲', 'Short.'])
  })

  it('stays where it stands before calls', async () => {
    const model = scriptedModel([{ text: 'Let me see.', ...(adding as object) }, 'It is 3.'])
    const pieces = await shown(createAgent({ model, tools: [countingAdd()] }).stream('hi'))
    expect(pieces).not.toContain('⟲')
  })
})

describe('a stream that stalls', () => {
  it('is given up, and tried again', async () => {
    const stalling: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify(chunk({ content: 'Hel' }))}\n\n`)
    }
    await using server = await loopback([stalling, sse([chunk({ content: 'Hello.' }, 'stop')])])
    const model = openaiChat('m', { baseURL: server.baseURL, idleTimeoutMs: 30 })
    const failures: string[] = []
    const run = createAgent({ model }).stream('hi')
    for await (const event of run) if (event.type === 'model.failed') failures.push(event.error.message)
    expect(failures).toEqual(['The stream stalled: nothing came for 30 ms.'])
    expect(expectDone(await run.outcome).output).toBe('Hello.')
  })
})

describe('a conversation that is too long for the model', () => {
  const shrinking = (): Memory & { compactions: number } => ({
    compactions: 0,
    view: (transcript, state) => (state === undefined ? transcript : transcript.slice(-1)),
    async compact() {
      this.compactions++
      return { state: 'shrunk' }
    },
  })

  it('is compacted once, and the run goes on', async () => {
    const memory = shrinking()
    const model = scriptedModel([tooLong, 'fits now'])
    const history: Message[] = [
      { role: 'user', content: 'old' },
      { role: 'assistant', content: 'old answer' },
      { role: 'user', content: 'new' },
    ]
    const run = createAgent({ model, memory }).stream(history)
    const states: string[] = []
    for await (const event of run) if (event.type === 'transition' && event.to) states.push(event.to)
    expect(expectDone(await run.outcome).output).toBe('fits now')
    expect(states).toContain('observing.compacting')
    expect(memory.compactions).toBe(1)
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([3, 1])
  })

  it('ends the run with a reason of its own where that did not help, or nothing can be compacted', async () => {
    const helpless = expectAborted(await createAgent({ model: scriptedModel([tooLong]) }).run('go'))
    expect(helpless).toMatchObject({ reason: 'context_exhausted', error: { code: 'context_too_long' } })
    const memory = shrinking()
    const stillTooLong = createAgent({ model: scriptedModel([tooLong, tooLong]), memory })
    expect(expectAborted(await stillTooLong.run('go')).reason).toBe('context_exhausted')
    expect(memory.compactions).toBe(1)
  })

  it('does not let a run past its steps', async () => {
    const model = scriptedModel([adding, tooLong, 'closing'])
    const agent = createAgent({ model, memory: shrinking(), tools: [countingAdd()], limits: { steps: 2 } })
    const outcome = expectDone(await agent.run('go'))
    expect(outcome).toMatchObject({ output: 'closing', steps: 2, stoppedBy: { limit: 'steps' } })
  })
})

describe('usage', () => {
  it.each([
    ['missing', undefined],
    ['zero', { prompt_tokens: 0, completion_tokens: 0 }],
    ['nonsense', { prompt_tokens: 'many' }],
  ])('that is %s is estimated, and marked so', async (_what, usage) => {
    await using server = await loopback([completion({ content: 'Hello there.' }, { usage })])
    const model = openaiChat('m', { baseURL: server.baseURL })
    const outcome = await createAgent({ model, instructions: 'Be brief. '.repeat(40) }).run('hi')
    expect(outcome.usage.estimated).toBe(true)
    expect(outcome.usage.inputTokens).toBeGreaterThan(100)
    expect(outcome.usage.outputTokens).toBeGreaterThan(2)
  })

  it('that is reported stays as it is', async () => {
    await using server = await loopback([completion({ content: 'hi' })])
    const { usage } = await createAgent({ model: openaiChat('m', { baseURL: server.baseURL }) }).run('hi')
    const reported = { inputTokens: 3, outputTokens: 2, cachedTokens: 0, reasoningTokens: 0 }
    expect(usage).toEqual({ ...reported, byModel: { m: reported } })
  })
})

describe('a reply that could not be understood', () => {
  it('is answered with what was wrong, then ends the run', async () => {
    const reply = (await scriptedModel(['x']).generate(
      { messages: [], tools: [], toolChoice: 'auto' },
      { signal: new AbortController().signal },
    )) as object
    const requests: readonly Message[][] = []
    const model = {
      id: 'm',
      generate: async ({ messages }: { messages: readonly Message[] }) => {
        ;(requests as Message[][]).push([...messages])
        return { ...reply, text: '', problem: 'Write JSON.' } as never
      },
    }
    const outcome = expectAborted(await createAgent({ model }).run('go'))
    expect(outcome.reason).toBe('malformed_response')
    expect(requests[1]?.at(-1)).toEqual({ role: 'user', content: 'Write JSON.' })
  })
})

describe('a broken history', () => {
  it('is mended, and the events say how', async () => {
    const history: Message[] = [
      { role: 'user', content: 'hi' },
      { role: 'tool', tool_call_id: 'x', content: 'lost' },
    ]
    const events: AgentEvent[] = []
    await createAgent({ model: scriptedModel(['hi']) }).run(history, {
      onEvent: (event) => events.push(event),
    })
    expect(events[1]).toMatchObject({
      type: 'history.repaired',
      notes: ['the result for "x" answers no call and was left out'],
    })
  })
})

describe('a memory that breaks the rules of providers', () => {
  it('is warned of in development', async () => {
    const memory: Memory = { view: (transcript) => transcript.filter(({ role }) => role !== 'tool') }
    const warned = once(process, 'warning')
    await createAgent({ model: scriptedModel([adding, 'ok']), tools: [countingAdd()], memory }).run('go')
    const [warning] = await warned
    expect(warning).toMatchObject({
      code: 'LOOPCHART_REQUEST',
      message: expect.stringContaining('call_unanswered'),
    })
  })
})

describe('images', () => {
  it('pass through to the provider', async () => {
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    ] as const
    await using server = await loopback([completion({ content: 'A dot.' })])
    await createAgent({ model: openaiChat('m', { baseURL: server.baseURL }) }).run([
      { role: 'user', content },
    ])
    expect(server.requests[0]?.body.messages).toEqual([{ role: 'user', content }])
  })
})
