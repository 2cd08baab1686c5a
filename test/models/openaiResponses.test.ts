import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createAgent, type Delta, type Message, type ModelError, type ModelReply } from '../../src/index.ts'
import type { Model, ModelRequest } from '../../src/models/model.ts'
import { type OpenAIResponsesOptions, responses } from '../../src/models/openaiResponses.ts'
import { type Answer, json, loopback, sse, stalledAfter } from '../support/loopback.ts'
import { expectAborted, expectDone, expectSendable, modelErrorOf } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'

const hello: ModelRequest = { messages: [{ role: 'user', content: 'hi' }], tools: [], toolChoice: 'auto' }

/** A response as the API gives it. */
function response(output: unknown, rest: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: 'gpt-5-2025-08-07',
    output,
    usage: {
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 14,
    },
    ...rest,
  }
}

function text(said: string, rest: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: said, annotations: [] }],
    ...rest,
  }
}

function functionCall(id: string, args: unknown, name = 'add'): Record<string, unknown> {
  return { type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: args, status: 'completed' }
}

function reasoning(id: string): Record<string, unknown> {
  return { type: 'reasoning', id: `rs_${id}`, summary: [], encrypted_content: `secret ${id}` }
}

/** The events of a stream that tells of this response. */
function events(whole: Record<string, unknown>, ...before: Record<string, unknown>[]): unknown[] {
  const output = whole.output as unknown[]
  return [
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } },
    ...before,
    ...output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
    { type: `response.${whole.status}`, response: whole },
  ]
}

function textDelta(delta: string): Record<string, unknown> {
  return { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta }
}

/** Calls a model once against a server that answers so; `deltas` are gathered where it streams. */
async function call(
  answer: Answer,
  {
    stream = false,
    model = 'gpt-5',
    request = hello,
    ...options
  }: { stream?: boolean; model?: string; request?: ModelRequest } & OpenAIResponsesOptions = {},
) {
  await using server = await loopback([answer])
  const deltas: Delta[] = []
  const { signal } = new AbortController()
  const reply = await responses(model, { baseURL: server.baseURL, ...options }).generate(
    request,
    stream ? { signal, onDelta: (delta) => deltas.push(delta) } : { signal },
  )
  return { reply, deltas, body: server.requests[0]?.body ?? {} }
}

/** The `input` that these messages become. */
async function inputOf(messages: readonly Message[]): Promise<unknown> {
  const { body } = await call(json(response([text('ok')])), { request: { ...hello, messages } })
  return body.input
}

/** The error that a call fails with, and how many requests it took. */
async function failing(answer: Answer, options: { stream?: boolean } & OpenAIResponsesOptions = {}) {
  await using server = await loopback([answer])
  const { stream = false, ...rest } = options
  const model = responses('gpt-5', { baseURL: server.baseURL, ...rest })
  const error = await modelErrorOf(generate(model, stream))
  return { error, requests: server.requests.length }
}

function generate(model: Model, stream = false): Promise<ModelReply> {
  const { signal } = new AbortController()
  return model.generate(hello, stream ? { signal, onDelta: () => {} } : { signal })
}

describe('a request', () => {
  it('carries the conversation, stores nothing, and asks for the reasoning', async () => {
    await using server = await loopback([json(response([text('hi')]))])
    const add = countingAdd()
    const model = responses('gpt-5', { baseURL: server.baseURL, apiKey: 'k' })
    await createAgent({ model, tools: [add], instructions: 'Be brief.' }).run('hi')
    const received = server.requests[0]
    expect(received?.headers.authorization).toBe('Bearer k')
    expect(received?.body).toEqual({
      model: 'gpt-5',
      stream: false,
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
      tools: [
        {
          type: 'function',
          name: 'add',
          description: 'Adds two numbers.',
          parameters: add.parameters,
          strict: false,
        },
      ],
      tool_choice: 'auto',
    })
  })

  it('has calls and results as items of their own', async () => {
    expect(
      await inputOf([
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: '1+2?' },
        {
          role: 'assistant',
          content: 'Let me add.',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: '3' },
        { role: 'assistant', content: 'It is 3.' },
        { role: 'user', content: 'Sure?' },
      ]),
    ).toEqual([
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: '1+2?' },
      { role: 'assistant', content: 'Let me add.' },
      { type: 'function_call', call_id: 'c', name: 'add', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'c', output: '3' },
      { role: 'assistant', content: 'It is 3.' },
      { role: 'user', content: 'Sure?' },
    ])
  })

  it('has images and files as parts of this API', async () => {
    const url = 'data:image/png;base64,AAAA'
    expect(
      await inputOf([
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url } },
            { type: 'image_url', image_url: { url, detail: 'low' } },
            { type: 'file', file: { file_id: 'f_1' } },
            { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
          ],
        },
      ]),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: url, detail: 'auto' },
          { type: 'input_image', image_url: url, detail: 'low' },
          { type: 'input_file', file_id: 'f_1' },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
        ],
      },
    ])
  })

  const schema = { type: 'object' }
  const tool = { name: 'f', description: 'F.', parameters: schema, strict: true }
  it.each([
    ['to a schema', 'schema', [tool], { type: 'json_schema', name: 'answer', schema }],
    ['to an object', 'object', [], { type: 'json_object' }],
    ['to nothing beside tools', 'object', [tool], undefined],
    ['to nothing', 'none', [], undefined],
  ] as const)('holds the model %s for structured output', async (_what, jsonMode, tools, format) => {
    const request: ModelRequest = {
      ...hello,
      tools,
      toolChoice: 'required',
      responseFormat: { type: 'json_schema', name: 'answer', schema },
      stop: ['END'],
    }
    const { body } = await call(json(response([text('{}')])), { request, jsonMode })
    expect(body.text).toEqual(format && { format })
    expect(body.tool_choice).toBe(tools.length > 0 ? 'required' : undefined)
    expect(body.tools).toEqual(tools.length > 0 ? [{ type: 'function', ...tool }] : undefined)
    expect(body).not.toHaveProperty('stop')
  })

  it.each([
    ['gpt-5', undefined, ['reasoning.encrypted_content']],
    ['o4-mini', undefined, ['reasoning.encrypted_content']],
    ['local', 0, ['reasoning.encrypted_content']],
    ['gpt-4.1', 0, undefined],
    ['ft:gpt-4o-mini:team', 0, undefined],
    ['gpt-5-chat-latest', 0, undefined],
  ])('is one that %s takes', async (model, temperature, include) => {
    const { body } = await call(json(response([text('hi')])), { model })
    expect(body.temperature).toBe(temperature)
    expect(body.include).toEqual(include)
  })
})

describe('a response', () => {
  it('gives text, usage and the model that answered', async () => {
    const { reply } = await call(json(response([text('Hel'), text('lo')])))
    expect(reply).toEqual({
      text: 'Hello',
      toolCalls: [],
      finish: 'stop',
      usage: { inputTokens: 9, cachedTokens: 4, outputTokens: 5, reasoningTokens: 3 },
      message: { role: 'assistant', content: 'Hello' },
      model: 'gpt-5-2025-08-07',
    })
  })

  it.each([
    ['as text', '{"a":1}', '{"a":1}'],
    ['as an object', { a: 1 }, '{"a":1}'],
    ['missing', undefined, ''],
  ])('may have arguments %s', async (_what, args, expected) => {
    const { reply } = await call(json(response([functionCall('c', args)])))
    const toolCalls = [{ id: 'c', type: 'function', function: { name: 'add', arguments: expected } }]
    expect(reply).toMatchObject({
      toolCalls,
      finish: 'tool_calls',
      message: { content: null, tool_calls: toolCalls },
    })
  })

  it('may have items that are none', async () => {
    const output = [{}, { type: 'function_call' }, { type: 'new_thing' }, text('x')]
    const { reply } = await call(json(response(output, { usage: null, model: 7 })))
    expect(reply).toMatchObject({ text: 'x', toolCalls: [], usage: { inputTokens: 0 } })
    expect(reply).not.toHaveProperty('model')
  })

  it.each([
    ['incomplete', 'max_output_tokens', 'length'],
    ['incomplete', 'content_filter', 'content_filter'],
    ['incomplete', 'something_new', 'unknown'],
    [undefined, undefined, 'unknown'],
  ])('that is %s because of %s ends as such', async (status, reason, finish) => {
    const { reply } = await call(
      json(
        response([text('Once upon')], {
          status,
          incomplete_details: reason === undefined ? null : { reason },
        }),
      ),
    )
    expect(reply).toMatchObject({ text: 'Once upon', finish })
  })

  it('may be a refusal', async () => {
    const { reply } = await call(
      json(response([text('', { content: [{ type: 'refusal', refusal: 'I cannot help with that.' }] })])),
    )
    expect(reply).toMatchObject({ text: '', refusal: 'I cannot help with that.' })
  })
})

describe('a streamed response', () => {
  const whole = response([reasoning('1'), text('Hello')])

  it('gives the text as it comes, and the whole at the end', async () => {
    const answer = sse(events(whole, textDelta('Hel'), textDelta('lo')), { done: false })
    const { reply, deltas, body } = await call(answer, { stream: true })
    expect(deltas).toEqual([{ text: 'Hel' }, { text: 'lo' }])
    expect(reply).toEqual((await call(json(whole))).reply)
    expect(body.stream).toBe(true)
  })

  it('may leave out of the last event what it streamed', async () => {
    const answer = sse([
      ...events(whole).slice(0, -1),
      { type: 'response.completed', response: { ...whole, output: [] } },
    ])
    const { reply } = await call(answer, { stream: true })
    expect(reply.text).toBe('Hello')
    expect(reply.message.response_items).toEqual(whole.output)
  })

  it('may tell of its output in the last event only', async () => {
    const answer = sse([{ type: 'response.completed', response: whole }])
    expect((await call(answer, { stream: true })).reply).toEqual((await call(json(whole))).reply)
  })

  it('may have items and events that are none', async () => {
    const odd = response([null, 7, { type: 'message', content: 'x' }, text('y')])
    const { reply } = await call(sse(events(odd, {}, { type: 'new.thing' }, { type: 7 })), { stream: true })
    expect(reply.text).toBe('xy')
  })

  it('may be cut off at the output limit', async () => {
    const cut = response([text('Once upon')], {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    })
    expect((await call(sse(events(cut)), { stream: true })).reply.finish).toBe('length')
  })
})

describe('the reasoning before a tool call', () => {
  const thinking = [
    reasoning('1'),
    text('Adding.', { phase: 'commentary' }),
    functionCall('c', '{"a":1,"b":2}'),
  ]

  it.each([
    ['at once', (output: unknown[]) => json(response(output)), false],
    ['in a stream', (output: unknown[]) => sse(events(response(output))), true],
  ])('that came %s is sent back with it, in its place', async (_what, answerWith, stream) => {
    await using server = await loopback([
      answerWith(thinking),
      answerWith([reasoning('2'), text('It is 3.')]),
      answerWith([text('Yes.')]),
    ])
    const agent = createAgent({
      model: responses('gpt-5', { baseURL: server.baseURL }),
      tools: [countingAdd()],
    })
    const run = (messages: readonly Message[]) =>
      stream ? agent.stream({ messages }).outcome : agent.run({ messages })
    const first = expectDone(await run([{ role: 'user', content: '1+2?' }]))
    expect(first.output).toBe('It is 3.')
    expectSendable(first)

    const step = [
      { role: 'user', content: '1+2?' },
      reasoning('1'),
      text('Adding.', { phase: 'commentary' }),
      { type: 'function_call', call_id: 'c', name: 'add', arguments: '{"a":1,"b":2}' },
      { type: 'function_call_output', call_id: 'c', output: '3' },
    ]
    expect(server.requests[1]?.body.input).toEqual(step)

    const stored: Message[] = JSON.parse(JSON.stringify(first.transcript))
    expectDone(await run([...stored, { role: 'user', content: 'Sure?' }]))
    expect(server.requests[2]?.body.input).toEqual([
      ...step,
      reasoning('2'),
      text('It is 3.'),
      { role: 'user', content: 'Sure?' },
    ])
  })

  it('goes with calls as the transcript has them: renamed and repaired', async () => {
    await using server = await loopback([
      json(
        response([
          reasoning('1'),
          functionCall('', '{"a":1,', 'add'),
          functionCall('', '{}', 'no such tool!'),
        ]),
      ),
      json(response([text('Sorry.')])),
    ])
    const model = responses('gpt-5', { baseURL: server.baseURL })
    const outcome = expectDone(await createAgent({ model, tools: [countingAdd()] }).run('1+2?'))
    const [, assistant] = outcome.transcript
    const calls = assistant?.role === 'assistant' ? (assistant.tool_calls ?? []) : []
    const ids = calls.map(({ id }) => id)
    expect(new Set(ids).size).toBe(2)
    expect(ids).not.toContain('')
    const input = server.requests[1]?.body.input as Record<string, unknown>[]
    expect(input.slice(1, 4)).toEqual([
      reasoning('1'),
      { type: 'function_call', call_id: ids[0], name: 'add', arguments: calls[0]?.function.arguments },
      { type: 'function_call', call_id: ids[1], name: 'no_such_tool_', arguments: '{}' },
    ])
    expect(input.slice(4).map(({ call_id }) => call_id)).toEqual(ids)
  })

  const asked: Message = { role: 'user', content: '1+2?' }
  const called: Message = {
    role: 'assistant',
    content: 'Adding.',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'add', arguments: '{}' } }],
    response_items: thinking,
  }
  it.each([
    ['text was edited', { ...called, content: 'Adding!' }, 'Adding!', 1],
    ['calls were taken out', { ...called, tool_calls: [] }, 'Adding.', 0],
    ['items are nonsense', { ...called, response_items: 'x' }, 'Adding.', 1],
  ])('is left out of a message whose %s', async (_what, message, content, calls) => {
    const callItem = { type: 'function_call', call_id: 'c', name: 'add', arguments: '{}' }
    expect(await inputOf([asked, message])).toEqual([
      asked,
      { role: 'assistant', content },
      ...Array(calls).fill(callItem),
    ])
  })

  it.each([
    ['nothing follows', [functionCall('c', '{}'), reasoning('1')]],
    ['only its id is known', [{ type: 'reasoning', id: 'rs_1', summary: [] }, functionCall('c', '{}')]],
  ])('is not kept where %s, because it would be refused', async (_what, output) => {
    const { reply } = await call(json(response(output)))
    expect(reply.toolCalls).toHaveLength(1)
    expect(reply.message).not.toHaveProperty('response_items')
  })

  it('of open models is kept, which do not encrypt it', async () => {
    const open = {
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'Hm.' }],
    }
    const { reply } = await call(json(response([open, text('hi')])))
    expect(reply.message.response_items).toEqual([open, text('hi')])
    expect(reply.text).toBe('hi')
  })
})

describe('a call that fails', () => {
  const failed = (error: unknown) => response([], { status: 'failed', error })
  const malformed = { code: 'malformed_reply', retryable: true } as const
  const cases: [string, Answer, Partial<ModelError>][] = [
    ['401', json({ error: { message: 'bad key' } }, 401), { code: 'authentication', retryable: false }],
    ['404', json({ error: { message: 'no such model' } }, 404), { code: 'not_found', retryable: false }],
    ['400', json({ error: { message: 'bad', code: 'x' } }, 400), { code: 'bad_request', retryable: false }],
    [
      'a context that is too long',
      json({ error: { message: 'too long', code: 'context_length_exceeded' } }, 400),
      { code: 'context_too_long', retryable: false },
    ],
    [
      '429',
      json({ error: { message: 'slow down' } }, 429, { 'retry-after': '7' }),
      { code: 'rate_limit', retryable: true, retryAfterMs: 7000 },
    ],
    ['500', json({ error: { message: 'oops' } }, 500), { code: 'overloaded', retryable: true }],
    ['a connection that is cut', (r) => void r.destroy(), { code: 'connection', retryable: true }],
    ['a body without output', json({ object: 'response' }), malformed],
    ['an output that is no list', json(response('x')), malformed],
    ['an output that is null', json(response([text('x', { content: null })])), malformed],
    [
      'a body that is no JSON',
      (r) => void r.setHeader('content-type', 'application/json').end('{"a'),
      malformed,
    ],
    ['a page instead of JSON', (r) => void r.setHeader('content-type', 'text/html').end('<html>'), malformed],
    ['an empty body', (r) => void r.setHeader('content-type', 'application/json').end(), malformed],
    ['a response that goes on elsewhere', json(response([], { status: 'queued' })), malformed],
    [
      'a response that failed',
      json(failed({ code: 'server_error', message: 'oops' })),
      { code: 'overloaded', retryable: true },
    ],
    ['a response that failed without a word', json(failed(null)), { code: 'overloaded', retryable: true }],
    [
      'a response that failed for its rate',
      json(failed({ code: 'rate_limit_exceeded', message: 'slow down' })),
      { code: 'rate_limit', retryable: true },
    ],
    [
      'a response that failed for its request',
      json(failed({ code: 'invalid_image', message: 'no image' })),
      { code: 'bad_request', retryable: false },
    ],
  ]
  it.each(cases)('with %s is told by its code, after one request', async (_what, answer, expected) => {
    const { error, requests } = await failing(answer)
    expect(error).toMatchObject(expected)
    expect(requests).toBe(1)
  })

  it.each([
    ['our own client', false],
    ['a client of the caller', true],
  ])('in the middle of a body is a lost connection to %s, not nonsense', async (_what, own) => {
    const cut: Answer = (r) => {
      r.writeHead(200, { 'content-type': 'application/json' })
      r.write('{"object":"resp', () => r.destroy())
    }
    await using server = await loopback([cut])
    const { baseURL } = server
    const options = own ? { client: new OpenAI({ baseURL, apiKey: 'k' }) } : { baseURL }
    await expect(generate(responses('gpt-5', options))).rejects.toMatchObject({
      code: 'connection',
      retryable: true,
    })
  })

  const created = { type: 'response.created', response: response([]) }
  const named = (event: Record<string, unknown>): Answer => {
    return (r) => {
      r.writeHead(200, { 'content-type': 'text/event-stream' })
      r.end(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    }
  }
  const busy = { type: 'error', code: 'rate_limit_exceeded', message: 'slow down', param: null }
  const streams: [string, Answer, Partial<ModelError>][] = [
    [
      'a failed response',
      sse([
        created,
        { type: 'response.failed', response: failed({ code: 'server_error', message: 'oops' }) },
      ]),
      { code: 'overloaded', message: 'oops', retryable: true },
    ],
    ['an event that tells of an error', sse([created, busy]), { code: 'rate_limit', retryable: true }],
    ['such an event, named', named(busy), { code: 'rate_limit', message: 'slow down', retryable: true }],
    [
      'a named event that says little',
      named({ type: 'error', code: 'server_error', message: 'oops', param: null }),
      { code: 'overloaded', message: 'oops', retryable: true },
    ],
    [
      'a conversation that is too long',
      named({ type: 'error', code: 'context_length_exceeded', message: 'too long', param: null }),
      { code: 'context_too_long', retryable: false },
    ],
    ['an end before its time', sse([created, textDelta('Hel')]), malformed],
    ['nothing at all', sse([]), malformed],
    [
      'text that is no JSON',
      (r) => void r.setHeader('content-type', 'text/event-stream').end('data: {"a\n\n'),
      malformed,
    ],
    [
      'a cut',
      (r) => {
        r.writeHead(200, { 'content-type': 'text/event-stream' })
        r.write(`data: ${JSON.stringify(textDelta('Hel'))}\n\n`, () => r.destroy())
      },
      { code: 'connection', retryable: true },
    ],
  ]
  it.each(streams)('in a stream with %s is told by its code', async (_what, answer, expected) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    expect((await failing(answer, { stream: true })).error).toMatchObject(expected)
    vi.restoreAllMocks()
  })

  it('by taking too long is given up', async () => {
    const { error } = await failing(() => {}, { timeoutMs: 30 })
    expect(error).toMatchObject({ code: 'timeout', retryable: true })
  })

  it('by a stream that stalls is given up', async () => {
    const { error } = await failing(stalledAfter(textDelta('Hel')).answer, {
      stream: true,
      idleTimeoutMs: 30,
    })
    expect(error).toMatchObject({ code: 'timeout', retryable: true })
  })
})

describe('an agent', () => {
  it('closes the connection of a stream that is aborted', async () => {
    const { answer, closed } = stalledAfter(textDelta('Hel'))
    await using server = await loopback([answer])
    const run = createAgent({ model: responses('gpt-5', { baseURL: server.baseURL }) }).stream('hi')
    for await (const event of run) if (event.type === 'model.delta') run.abort()
    expect(expectAborted(await run.outcome).reason).toBe('cancelled')
    await closed
  })

  it('closes the connection of a call that is aborted', async () => {
    const closed = Promise.withResolvers<void>()
    const controller = new AbortController()
    const hanging: Answer = (r) => {
      r.on('close', closed.resolve)
      controller.abort()
    }
    await using server = await loopback([hanging])
    const agent = createAgent({ model: responses('gpt-5', { baseURL: server.baseURL }) })
    const outcome = await agent.run('hi', { signal: controller.signal })
    expect(expectAborted(outcome).reason).toBe('cancelled')
    await closed.promise
  })

  it('ends a run that was refused', async () => {
    const refusal = text('', { content: [{ type: 'refusal', refusal: 'No.' }] })
    await using server = await loopback([json(response([refusal]))])
    const outcome = await createAgent({ model: responses('gpt-5', { baseURL: server.baseURL }) }).run('hi')
    expect(expectAborted(outcome).reason).toBe('content_filter')
  })
})

describe('options', () => {
  beforeEach(() => {
    for (const key of ['OPENAI_API_KEY', 'OPENAI_BASE_URL']) vi.stubEnv(key, undefined)
  })
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  it('must give a model, and a key or another server', () => {
    expect(() => responses('', { apiKey: 'k' })).toThrow(/responses needs the id of a model/)
    expect(() => responses('gpt-5')).toThrow(/responses has no API key. Set OPENAI_API_KEY/)
    vi.stubEnv('OPENAI_API_KEY', 'k')
    expect(responses('gpt-5').id).toBe('gpt-5')
  })

  it('shape the request', async () => {
    await using server = await loopback([json(response([text('hi')]))])
    const extraBody = { reasoning: { effort: 'low' }, store: true }
    const client = new OpenAI({ baseURL: server.baseURL, apiKey: 'mine' })
    await generate(responses('gpt-5', { client, maxTokens: 99, temperature: 1, extraBody }))
    const [received] = server.requests
    expect(received?.headers.authorization).toBe('Bearer mine')
    expect(received?.body).toMatchObject({ ...extraBody, max_output_tokens: 99, temperature: 1 })
  })
})
