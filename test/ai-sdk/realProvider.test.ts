import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { describe, expect, it } from 'vitest'
import { aiSdkModel } from '../../src/ai-sdk/index.ts'
import { createAgent, type Message, type Model } from '../../src/index.ts'
import type { ModelRequest } from '../../src/models/model.ts'
import { type Answer, chunk, completion, json, loopback, sse, stalledAfter } from '../support/loopback.ts'
import { expectAborted, expectDone, expectSendable, rejectionOf } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'

/** A model of a provider from npm, with a server on loopback behind it. */
function modelAt(baseURL: string, options: Parameters<typeof aiSdkModel>[1] = {}): Model {
  const provider = createOpenAICompatible({
    name: 'local',
    baseURL,
    apiKey: 'k',
    includeUsage: true,
    supportsStructuredOutputs: true,
  })
  return aiSdkModel(provider('m'), options)
}

const hello: ModelRequest = { messages: [{ role: 'user', content: 'hi' }], tools: [], toolChoice: 'auto' }
const add = { id: 'c', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }

/** What a call fails with. */
async function failing(answer: Answer, { stream = false } = {}): Promise<unknown> {
  await using server = await loopback([answer])
  const { signal } = new AbortController()
  const io = stream ? { signal, onDelta: () => {} } : { signal }
  return await rejectionOf(modelAt(server.baseURL).generate(hello, io))
}

describe('a provider from npm', () => {
  it('is sent messages, tools and settings in its own format', async () => {
    await using server = await loopback([completion({ content: 'hi' })])
    const tool = countingAdd()
    const model = modelAt(server.baseURL, {
      maxTokens: 99,
      callOptions: { topP: 0.5, headers: { 'x-team': 'a' } },
    })
    await createAgent({ model, tools: [tool], instructions: 'Be brief.' }).run('hi')
    const received = server.requests[0]
    expect(received?.headers).toMatchObject({ authorization: 'Bearer k', 'x-team': 'a' })
    expect(received?.body).toEqual({
      model: 'm',
      temperature: 0,
      top_p: 0.5,
      max_tokens: 99,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'add', description: 'Adds two numbers.', parameters: tool.parameters },
        },
      ],
      tool_choice: 'auto',
    })
  })

  it('is asked for JSON and told where to stop', async () => {
    await using server = await loopback([completion({ content: '{}' })])
    const schema = { type: 'object' }
    await modelAt(server.baseURL).generate(
      { ...hello, stop: ['END'], responseFormat: { type: 'json_schema', name: 'answer', schema } },
      { signal: new AbortController().signal },
    )
    expect(server.requests[0]?.body).toMatchObject({
      stop: ['END'],
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
    })
  })

  it('is sent images and files', async () => {
    await using server = await loopback([completion({ content: 'A cat.' })])
    const image = { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } } as const
    const inline = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const
    const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } } as const
    const file = {
      type: 'file',
      file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
    } as const
    const content = [{ type: 'text', text: 'What is this?' } as const, image, inline, audio, file]
    await createAgent({ model: modelAt(server.baseURL) }).run([{ role: 'user', content }])
    expect(server.requests[0]?.body.messages).toEqual([{ role: 'user', content }])
  })

  it.each([
    [
      'at once',
      completion({ reasoning_content: 'Adding.', content: null, tool_calls: [add] }),
      completion({ content: 'It is 3.' }),
      false,
    ],
    [
      'in a stream',
      sse([
        chunk({ reasoning_content: 'Add' }),
        chunk({ reasoning_content: 'ing.' }),
        chunk({ tool_calls: [{ index: 0, ...add }] }, 'tool_calls'),
      ]),
      sse([
        chunk({ content: 'It is ' }),
        chunk({ content: '3.' }, 'stop'),
        { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
      ]),
      true,
    ],
  ])('is sent back what it reasoned before a call, %s', async (_what, first, second, stream) => {
    await using server = await loopback([first, second, second])
    const agent = createAgent({ model: modelAt(server.baseURL), tools: [countingAdd()] })
    const pieces: string[] = []
    const run = async (messages: readonly Message[]) => {
      if (!stream) return agent.run(messages)
      const running = agent.stream(messages)
      for await (const event of running) if (event.type === 'model.delta') pieces.push(event.text)
      return running.outcome
    }
    const outcome = expectDone(await run([{ role: 'user', content: '1+2?' }]))
    expect(outcome.output).toBe('It is 3.')
    expect(outcome.usage.outputTokens).toBeGreaterThan(0)
    expect(pieces).toEqual(stream ? ['It is ', '3.'] : [])
    expectSendable(outcome)

    const step = [
      { role: 'user', content: '1+2?' },
      { role: 'assistant', content: null, reasoning_content: 'Adding.', tool_calls: [add] },
      { role: 'tool', tool_call_id: 'c', content: '3' },
    ]
    expect(server.requests[1]?.body.messages).toEqual(step)

    const stored: Message[] = JSON.parse(JSON.stringify(outcome.transcript))
    expectDone(await run([...stored, { role: 'user', content: 'Sure?' }]))
    expect(server.requests[2]?.body.messages).toEqual([
      ...step,
      { role: 'assistant', content: 'It is 3.' },
      { role: 'user', content: 'Sure?' },
    ])
  })

  it('gives back signatures with the calls that they were made for', async () => {
    const signed = { ...add, extra_content: { google: { thought_signature: 'sig' } } }
    await using server = await loopback([
      completion({ content: null, tool_calls: [signed] }),
      completion({ content: 'It is 3.' }),
    ])
    expectDone(await createAgent({ model: modelAt(server.baseURL), tools: [countingAdd()] }).run('1+2?'))
    expect(server.requests[1]?.body.messages).toContainEqual({
      role: 'assistant',
      content: null,
      tool_calls: [signed],
    })
  })

  it('tells of usage, of the model that answered and of a reply that was cut off', async () => {
    const usage = {
      prompt_tokens: 9,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens: 5,
      completion_tokens_details: { reasoning_tokens: 3 },
    }
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Once' }, finish_reason: 'length' }]
    await using server = await loopback([completion({}, { usage, choices, model: 'm-2' })])
    const { signal } = new AbortController()
    expect(await modelAt(server.baseURL).generate(hello, { signal })).toEqual({
      text: 'Once',
      toolCalls: [],
      finish: 'length',
      usage: { inputTokens: 9, cachedTokens: 4, outputTokens: 5, reasoningTokens: 3 },
      message: { role: 'assistant', content: 'Once' },
      model: 'm-2',
    })
  })

  const error = (message: string, rest: object = {}) => ({ error: { message, ...rest } })
  const malformed = { code: 'malformed_reply', retryable: true }
  const cut: Answer = (r) => {
    r.writeHead(200, { 'content-type': 'text/event-stream' })
    r.write(`data: ${JSON.stringify(chunk({ content: 'Hel' }))}\n\n`, () => r.destroy())
  }
  const cases: [string, Answer, object, boolean?][] = [
    ['401', json(error('bad key'), 401), { code: 'authentication', retryable: false, status: 401 }],
    ['404', json(error('no such model'), 404), { code: 'not_found', retryable: false }],
    ['400', json(error('bad field'), 400), { code: 'bad_request', retryable: false }],
    [
      'a context that is too long',
      json(error('too long', { code: 'context_length_exceeded' }), 400),
      { code: 'context_too_long', retryable: false },
    ],
    [
      '429',
      json(error('slow down'), 429, { 'retry-after': '7' }),
      { code: 'rate_limit', retryable: true, retryAfterMs: 7000, status: 429 },
    ],
    [
      'a quota that is used up',
      json(error('You exceeded your current quota', { code: 'insufficient_quota' }), 429),
      { code: 'quota_exceeded', retryable: false },
    ],
    ['503', json(error('busy'), 503), { code: 'overloaded', retryable: true }],
    ['a connection that is cut', (r) => void r.destroy(), { code: 'connection', retryable: true }],
    ['a body that makes no sense', json({ choices: 'x' }), malformed],
    ['a body that is no JSON', (r) => void r.end('<html>'), malformed],
    ['no choices', json({ choices: [] }), malformed],
    ['a stream that is cut', cut, { code: 'connection', retryable: true }, true],
    ['a stream that just ends', sse([chunk({ content: 'Hel' })]), malformed, true],
    [
      'an error in a stream',
      sse([chunk({ content: 'Hel' }), error('busy', { type: 'server_error' })]),
      { code: 'overloaded', message: 'busy', retryable: true },
      true,
    ],
  ]
  it.each(cases)('that fails with %s is told by its code', async (_what, answer, expected, stream) => {
    expect(await failing(answer, { stream: stream === true })).toMatchObject({
      name: 'ModelError',
      ...expected,
    })
  })

  it('is tried again by the chart', async () => {
    const busy = json(error('busy'), 503, { 'retry-after-ms': '1' })
    await using server = await loopback([busy, completion({ content: 'hi' })])
    expectDone(await createAgent({ model: modelAt(server.baseURL) }).run('hi'))
    expect(server.requests).toHaveLength(2)
  })

  it('closes the connection of a stream that is aborted', async () => {
    const { answer, closed } = stalledAfter(chunk({ content: 'Hel' }))
    await using server = await loopback([answer])
    const run = createAgent({ model: modelAt(server.baseURL) }).stream('hi')
    for await (const event of run) if (event.type === 'model.delta') run.abort()
    expect(expectAborted(await run.outcome).reason).toBe('cancelled')
    await closed
  })

  it('closes the connection of a stream that stalls', async () => {
    const { answer, closed } = stalledAfter(chunk({ content: 'Hel' }))
    await using server = await loopback([answer])
    const { signal } = new AbortController()
    const reply = modelAt(server.baseURL, { idleTimeoutMs: 30 }).generate(hello, {
      signal,
      onDelta: () => {},
    })
    await expect(reply).rejects.toMatchObject({ code: 'timeout', retryable: true })
    await closed
  })
})
