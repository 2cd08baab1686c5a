import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  createAgent,
  type Delta,
  type Model,
  type ModelError,
  type ModelReply,
  openaiChat,
} from '../../src/index.ts'
import { type Answer, chunk, completion, json, loopback, sse, stalledAfter } from '../support/loopback.ts'
import { expectAborted, expectDone, modelErrorOf } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'

const request = {
  messages: [{ role: 'user', content: 'hi' }],
  tools: [],
  toolChoice: 'auto',
} as const

/** Calls a model once against a server that answers so; `stream` gathers the deltas. */
async function call(answer: Answer, { stream = false, model = 'm' } = {}) {
  await using server = await loopback([answer])
  const deltas: Delta[] = []
  const reply = await openaiChat(model, { baseURL: server.baseURL }).generate(request, {
    signal: new AbortController().signal,
    ...(stream ? { onDelta: (delta: Delta) => deltas.push(delta) } : {}),
  })
  return { reply, deltas, received: server.requests[0] }
}

/** The error that a call fails with, and how many requests it took. */
async function failing(answer: Answer, options: { stream?: boolean } = {}) {
  await using server = await loopback([answer])
  const model = openaiChat('m', { baseURL: server.baseURL })
  const error = await modelErrorOf(generate(model, options.stream))
  return { error, requests: server.requests.length }
}

function generate(model: Model, stream = false): Promise<ModelReply> {
  const { signal } = new AbortController()
  return model.generate(request, stream ? { signal, onDelta: () => {} } : { signal })
}

describe('a chat completion', () => {
  it('is asked for with messages, tools and temperature 0', async () => {
    await using server = await loopback([completion({ content: 'hi' })])
    const add = countingAdd()
    await createAgent({ model: openaiChat('m', { baseURL: server.baseURL, apiKey: 'k' }), tools: [add] }).run(
      'hi',
    )
    const received = server.requests[0]
    expect(received?.headers.authorization).toBe('Bearer k')
    expect(received?.body).toEqual({
      model: 'm',
      stream: false,
      temperature: 0,
      messages: [{ role: 'user', content: 'hi' }],
      tools: [
        {
          type: 'function',
          function: { name: 'add', description: 'Adds two numbers.', parameters: add.parameters },
        },
      ],
      tool_choice: 'auto',
    })
  })

  it('gives text, usage and the model that answered', async () => {
    const { reply } = await call(
      completion(
        { content: 'hi' },
        {
          usage: {
            prompt_tokens: 9,
            prompt_tokens_details: { cached_tokens: 4 },
            completion_tokens: 5,
            completion_tokens_details: { reasoning_tokens: 3 },
          },
        },
      ),
    )
    expect(reply).toMatchObject({
      text: 'hi',
      model: 'm',
      usage: { inputTokens: 9, cachedTokens: 4, outputTokens: 5, reasoningTokens: 3 },
    })
  })

  it.each([
    ['null', null, ''],
    ['an empty string', '', ''],
    ['an empty array', [], ''],
    ['an array of parts', [{ type: 'text', text: 'a' }, 'b', { type: 'thing' }], 'ab'],
    ['a number', 7, ''],
  ])('may have %s for content', async (_what, content, text) => {
    expect((await call(completion({ content }))).reply.text).toBe(text)
  })

  it.each([
    ['as an object', { a: 1 }, '{"a":1}'],
    ['as text', '{"a":1}', '{"a":1}'],
    ['encoded twice', JSON.stringify('{"a":1}'), '{"a":1}'],
    ['as a string that holds no object', '"paris"', '"paris"'],
    ['cut off', '{"a":', '{"a":'],
    ['with text behind them', '{"a":1} ok?', '{"a":1} ok?'],
    ['missing', undefined, ''],
    ['null', null, ''],
  ])('may have arguments %s', async (_what, args, text) => {
    const { reply } = await call(
      completion({ tool_calls: [{ id: 'c', function: { name: 'f', arguments: args } }] }),
    )
    expect(reply.toolCalls).toEqual([{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }])
  })

  it('may use the legacy function_call', async () => {
    const { reply } = await call(completion({ function_call: { name: 'f', arguments: '{}' } }))
    expect(reply.toolCalls).toEqual([{ id: '', type: 'function', function: { name: 'f', arguments: '{}' } }])
  })

  it('may have calls that are none', async () => {
    const { reply } = await call(completion({ content: 'x', tool_calls: [null, 7, {}, { function: {} }] }))
    expect(reply.toolCalls).toEqual([])
  })

  it('keeps fields that only this provider knows', async () => {
    const { reply } = await call(
      completion({ content: 'hi', reasoning_content: 'hmm', audio: null, annotations: [] }),
    )
    expect(reply.message).toEqual({ role: 'assistant', content: 'hi', reasoning_content: 'hmm' })
  })

  it.each([
    ['missing', undefined],
    ['null', null],
    ['nonsense', { prompt_tokens: 'many', completion_tokens: -1 }],
  ])('may have usage that is %s', async (_what, usage) => {
    const { reply } = await call(completion({ content: 'hi' }, { usage }))
    expect(reply.usage).toEqual({ inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 })
  })
})

describe('a streamed completion', () => {
  it('gives the pieces as they come, and the whole at the end', async () => {
    const { reply, deltas, received } = await call(
      sse([
        chunk({ role: 'assistant', content: '' }),
        chunk({ content: 'Hel' }),
        chunk({ content: 'lo' }, 'stop'),
        { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
      ]),
      { stream: true },
    )
    expect(deltas).toEqual([{ text: 'Hel' }, { text: 'lo' }])
    expect(reply).toMatchObject({ text: 'Hello', finish: 'stop', usage: { inputTokens: 3, outputTokens: 2 } })
    expect(received?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } })
  })

  const streamedCalls = async (...chunks: unknown[]) =>
    (await call(sse(chunks), { stream: true })).reply.toolCalls
  const part = (entry: Record<string, unknown>) => chunk({ tool_calls: [entry] })

  it('puts calls together from their pieces', async () => {
    expect(
      await streamedCalls(
        part({ index: 0, id: 'a', function: { name: 'f', arguments: '' } }),
        part({ index: 0, function: { arguments: '{"x"' } }),
        part({ index: 1, id: 'b', function: { name: 'g', arguments: '{}' } }),
        part({ index: 0, function: { arguments: ':1}' } }),
        chunk({}, 'tool_calls'),
      ),
    ).toEqual([
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
    ])
  })

  it('tells calls apart by id where all have index 0', async () => {
    const calls = await streamedCalls(
      part({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }),
      part({ index: 0, id: 'b', function: { name: 'f', arguments: '{"x":1}' } }),
    )
    expect(calls.map(({ id, function: { arguments: args } }) => [id, args])).toEqual([
      ['a', '{}'],
      ['b', '{"x":1}'],
    ])
  })

  it('takes calls without an index', async () => {
    const calls = await streamedCalls(
      part({ id: 'a', function: { name: 'f', arguments: '{"x"' } }),
      part({ id: '', function: { arguments: ':1}' } }),
    )
    expect(calls).toEqual([{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }])
  })

  it('takes arguments before the name, and names in pieces or repeated', async () => {
    const calls = await streamedCalls(
      part({ index: 0, id: 'a', function: { arguments: '{}' } }),
      part({ index: 0, function: { name: 'get_' } }),
      part({ index: 0, function: { name: 'weather' } }),
      part({ index: 0, function: { name: 'get_weather' } }),
    )
    expect(calls[0]?.function).toEqual({ name: 'get_weather', arguments: '{}' })
  })

  it('takes the last usage where every chunk has one', async () => {
    const { reply } = await call(
      sse([
        { ...chunk({ content: 'a' }), usage: { prompt_tokens: 3, completion_tokens: 1 } },
        { ...chunk({ content: 'b' }), usage: { prompt_tokens: 3, completion_tokens: 2 } },
      ]),
      { stream: true },
    )
    expect(reply.usage).toMatchObject({ inputTokens: 3, outputTokens: 2 })
  })

  it('may come in one piece, from servers that do not stream', async () => {
    const { reply, deltas } = await call(completion({ content: 'Hello' }), { stream: true })
    expect(reply).toMatchObject({ text: 'Hello', finish: 'stop', usage: { inputTokens: 3 } })
    expect(deltas).toEqual([{ text: 'Hello' }])
  })

  it('keeps the time of a stream running with comments alone', async () => {
    await using server = await loopback([
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        let comments = 0
        const beat = setInterval(() => {
          if (++comments < 12) return void response.write(': thinking\n\n')
          clearInterval(beat)
          response.end(`data: ${JSON.stringify(chunk({ content: 'Hello' }, 'stop'))}\n\ndata: [DONE]\n\n`)
        }, 10)
      },
    ])
    const model = openaiChat('m', { baseURL: server.baseURL, idleTimeoutMs: 60 })
    expect((await generate(model, true)).text).toBe('Hello')
  })

  it('that is aborted in the middle is no reply', async () => {
    await using server = await loopback([
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(`data: ${JSON.stringify(chunk({ content: 'Hel' }))}\n\n`)
      },
    ])
    const controller = new AbortController()
    const pending = openaiChat('m', { baseURL: server.baseURL }).generate(request, {
      signal: controller.signal,
      onDelta: () => controller.abort(new Error('enough')),
    })
    await expect(pending).rejects.toThrow('enough')
  })

  it('may end without a finish reason and without [DONE]', async () => {
    const { reply } = await call(sse([chunk({ content: 'hi' })], { done: false }), { stream: true })
    expect(reply).toMatchObject({ text: 'hi', finish: 'unknown' })
  })

  it('may have chunks whose choices are null', async () => {
    const { reply } = await call(sse([{ choices: null }, chunk({ content: 'hi' }, 'stop')]), { stream: true })
    expect(reply.text).toBe('hi')
  })
})

describe('a model call that fails', () => {
  const cases: [string, Answer, Partial<ModelError>][] = [
    ['401', json({ error: { message: 'bad key' } }, 401), { code: 'authentication', retryable: false }],
    ['403', json({ error: { message: 'no' } }, 403), { code: 'permission', retryable: false }],
    ['404', json({ error: { message: 'no such model' } }, 404), { code: 'not_found', retryable: false }],
    ['400', json({ error: { message: 'bad field' } }, 400), { code: 'bad_request', retryable: false }],
    ['422', json({ error: { message: 'bad field' } }, 422), { code: 'bad_request', retryable: false }],
    [
      'a context that is too long',
      json({ error: { message: 'too long', code: 'context_length_exceeded' } }, 400),
      { code: 'context_too_long', retryable: false },
    ],
    [
      'a filter that refuses the request',
      json({ error: { message: 'filtered', code: 'content_filter' } }, 400),
      { code: 'content_filter', retryable: false },
    ],
    [
      'a body that is no JSON',
      (response) => void response.setHeader('content-type', 'application/json').end('{"choices":'),
      { code: 'malformed_reply', retryable: true },
    ],
    [
      'a page instead of JSON',
      (response) => void response.setHeader('content-type', 'text/html').end('<h1>Hello</h1>'),
      { code: 'malformed_reply', retryable: true },
    ],
    ['402', json({ error: { message: 'pay first' } }, 402), { code: 'quota_exceeded', retryable: false }],
    [
      'a rate limit in words of a quota',
      json({ error: { message: 'You exceeded your current quota, retry in 36s' } }, 429, {
        'retry-after': '36',
      }),
      { code: 'rate_limit', retryable: true },
    ],
    [
      'a rate limit on tokens',
      json({ error: { message: 'Too many tokens, please wait' } }, 429),
      { code: 'rate_limit', retryable: true },
    ],
    [
      '413',
      json({ error: { message: 'x', code: 'tokens_limit_reached' } }, 413),
      { code: 'context_too_long' },
    ],
    ['status 999', (response) => response.writeHead(999).end(), { code: 'connection', retryable: true }],
    ['429', json({ error: { message: 'slow down' } }, 429), { code: 'rate_limit', retryable: true }],
    [
      'a quota that is used up',
      json({ error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } }, 429),
      { code: 'quota_exceeded', retryable: false },
    ],
    ['500', json({ error: { message: 'oops' } }, 500), { code: 'overloaded', retryable: true }],
    [
      '503 without a body',
      (response) => response.writeHead(503).end(),
      { code: 'overloaded', retryable: true },
    ],
    [
      'a connection that is cut',
      (response) => void response.destroy(),
      { code: 'connection', retryable: true },
    ],
    ['a reply without choices', json({ choices: [] }), { code: 'malformed_reply', retryable: true }],
    [
      'an error in a body that says 200',
      json({ error: { message: 'busy', type: 'overloaded_error' } }),
      { code: 'overloaded', retryable: true },
    ],
  ]

  it.each(cases)('with %s is told by its code, after one request', async (_what, answer, expected) => {
    const { error, requests } = await failing(answer)
    expect(error).toMatchObject(expected)
    expect(requests).toBe(1)
  })

  it('in the middle of a stream is an error, not a short answer', async () => {
    const cut: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify(chunk({ content: 'Hel' }))}\n\n`, () => response.destroy())
    }
    expect((await failing(cut, { stream: true })).error).toMatchObject({
      code: 'connection',
      retryable: true,
    })
  })

  it('by an error inside a stream is told as well', async () => {
    const answer = sse([chunk({ content: 'Hel' }), { error: { message: 'gone', code: 'server_error' } }])
    expect((await failing(answer, { stream: true })).error.retryable).toBe(true)
  })

  it('by a stream without anything is an error', async () => {
    expect((await failing(sse([]), { stream: true })).error.code).toBe('malformed_reply')
  })

  it.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
    [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
  ])('passes on how long to wait: %o', async (headers, retryAfterMs) => {
    const { error } = await failing(
      json({ error: { message: 'slow down' } }, 429, headers as Record<string, string>),
    )
    expect(error.retryAfterMs).toBe(retryAfterMs)
  })

  it('by taking too long is given up', async () => {
    await using server = await loopback([() => {}])
    const model = openaiChat('m', { baseURL: server.baseURL, timeoutMs: 30 })
    await expect(generate(model)).rejects.toMatchObject({ code: 'timeout', retryable: true })
  })

  it('because nobody listens says so', async () => {
    const server = await loopback([])
    const { baseURL } = server
    await server[Symbol.asyncDispose]()
    await expect(generate(openaiChat('m', { baseURL }))).rejects.toMatchObject({
      code: 'connection',
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })
})

describe('an agent over HTTP', () => {
  it('runs the loop through the SDK, streamed or not', async () => {
    const answers = [
      completion({ tool_calls: [{ id: 'c', function: { name: 'add', arguments: '{"a":1,"b":2}' } }] }),
      completion({ content: 'It is 3.' }),
    ]
    await using plain = await loopback(answers)
    const run = (baseURL: string) =>
      createAgent({ model: openaiChat('m', { baseURL }), tools: [countingAdd()] })
    expect(expectDone(await run(plain.baseURL).run('1+2?')).output).toBe('It is 3.')

    await using streaming = await loopback([
      sse([
        chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'add', arguments: '{"a":1,"b":2}' } }] }),
      ]),
      sse([chunk({ content: 'It is ' }), chunk({ content: '3.' }, 'stop')]),
    ])
    expect(expectDone(await run(streaming.baseURL).stream('1+2?').outcome).output).toBe('It is 3.')
  })

  it('tries again after a busy server, in the chart', async () => {
    await using server = await loopback([
      json({ error: { message: 'busy' } }, 503, { 'retry-after-ms': '1' }),
      completion({ content: 'hi' }),
    ])
    expectDone(await createAgent({ model: openaiChat('m', { baseURL: server.baseURL }) }).run('hi'))
    expect(server.requests).toHaveLength(2)
  })

  it('closes the connection when the consumer of its events leaves', async () => {
    const { answer, closed } = stalledAfter(chunk({ content: 'Hel' }))
    await using server = await loopback([answer])
    const run = createAgent({ model: openaiChat('m', { baseURL: server.baseURL }) }).stream('hi')
    for await (const event of run) if (event.type === 'model.delta') break
    await closed
    expect(expectAborted(await run.outcome).reason).toBe('cancelled')
  })

  it('ends with a reason of its own where a filter refuses the request', async () => {
    await using server = await loopback([
      json({ error: { message: 'filtered', code: 'content_filter' } }, 400),
    ])
    const outcome = await createAgent({ model: openaiChat('m', { baseURL: server.baseURL }) }).run('hi')
    expect(expectAborted(outcome).reason).toBe('content_filter')
    expect(server.requests).toHaveLength(1)
  })

  it('closes the connection of a stream that is aborted', async () => {
    const { answer, closed } = stalledAfter(chunk({ content: 'Hel' }))
    await using server = await loopback([answer])
    const run = createAgent({ model: openaiChat('m', { baseURL: server.baseURL }) }).stream('hi')
    for await (const event of run) if (event.type === 'model.delta') run.abort()
    expect(expectAborted(await run.outcome).reason).toBe('cancelled')
    await closed
  })
})

describe('options', () => {
  const keys = ['OPENAI_API_KEY', 'OPENAI_BASE_URL'] as const
  beforeEach(() => {
    for (const key of keys) vi.stubEnv(key, undefined)
  })
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  it('must give a key or another server', () => {
    expect(() => openaiChat('m')).toThrow(/Set OPENAI_API_KEY/)
    vi.stubEnv('OPENAI_API_KEY', 'k')
    expect(openaiChat('m').id).toBe('m')
  })

  it.each(['a b', 'a\nb', '…', ''])('must give a key that can be one: %j', (apiKey) => {
    const make = () => openaiChat('m', { apiKey, baseURL: 'http://localhost:1' })
    expect(make).toThrow(/Check where it comes from/)
    expect(make).not.toThrow(apiKey === '' ? 'a b' : JSON.stringify(apiKey))
  })

  it.each(['localhost:11434', 'ftp://x', 'nonsense'])('must give a URL: %s', (baseURL) => {
    expect(() => openaiChat('m', { baseURL })).toThrow(/must be a URL such as/)
  })

  it.each(['o3-mini', 'gpt-5', 'openai/gpt-5-nano', 'o4'])('send no temperature to %s', async (model) => {
    const { received } = await call(completion({ content: 'hi' }), { model })
    expect(received?.body).not.toHaveProperty('temperature')
  })

  it.each(['gpt-4.1', 'gpt-5-chat-latest', 'qwen3', 'proto3'])('send temperature 0 to %s', async (model) => {
    const { received } = await call(completion({ content: 'hi' }), { model })
    expect(received?.body.temperature).toBe(0)
  })

  it('shape the request', async () => {
    await using server = await loopback([completion({ content: 'hi' }), completion({ content: 'hi' })])
    const { baseURL } = server
    const more = { baseURL, maxTokens: 9, headers: { 'x-team': 'a' }, extraBody: { top_k: 4 } }
    await generate(openaiChat('m', { ...more, temperature: null }))
    await generate(openaiChat('o3', { ...more, temperature: 1 }))
    const [plain, reasoning] = server.requests
    expect(plain?.body).toEqual({
      model: 'm',
      stream: false,
      max_tokens: 9,
      top_k: 4,
      messages: request.messages,
    })
    expect(plain?.headers['x-team']).toBe('a')
    expect(reasoning?.body).toMatchObject({ max_completion_tokens: 9, temperature: 1 })
  })

  it('may name a client of the SDK', async () => {
    await using server = await loopback([completion({ content: 'hi' })])
    const client = new OpenAI({ baseURL: server.baseURL, apiKey: 'mine' })
    await generate(openaiChat('m', { client }))
    expect(server.requests[0]?.headers.authorization).toBe('Bearer mine')
  })
})
