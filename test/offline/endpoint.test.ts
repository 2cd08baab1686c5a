import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import OpenAI, { APIError } from 'openai'
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionFunctionTool,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import { afterEach, describe, expect, it } from 'vitest'
import {
  exampleTools,
  type OfflineEndpoint,
  type OfflineEndpointOptions,
  startOfflineEndpoint,
} from '../../src/offline/index.ts'
import { callTool } from '../../src/testing/index.ts'

const MODEL = 'loopchart-stand-in'
const QUESTION = '北京天气怎么样？顺便算一下 15*8+32'

const tools = exampleTools.map(
  ({ name, description, parameters }): ChatCompletionFunctionTool => ({
    type: 'function',
    function: { name, description, parameters },
  }),
)

const running: OfflineEndpoint[] = []

async function start(options?: OfflineEndpointOptions): Promise<OfflineEndpoint> {
  const endpoint = await startOfflineEndpoint(options)
  running.push(endpoint)
  return endpoint
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((endpoint) => endpoint.close()))
})

function post(endpoint: OfflineEndpoint, body: unknown, headers: Record<string, string> = {}) {
  return fetch(`${endpoint.baseURL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

function sdk(endpoint: OfflineEndpoint, apiKey = 'any'): OpenAI {
  return new OpenAI({ baseURL: endpoint.baseURL, apiKey, maxRetries: 0 })
}

const ask = (content: string): ChatCompletionMessageParam => ({ role: 'user', content })

/** The values of an event stream's `data:` lines. */
function eventsOf(text: string): string[] {
  return text.split('\n\n').flatMap((event) => (event === '' ? [] : [event.replace(/^data: /, '')]))
}

describe('a completion', () => {
  it('has the fields that the API documents', async () => {
    const endpoint = await start()
    const response = await post(endpoint, { model: MODEL, messages: [ask('15*8+32')], tools })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch('application/json')
    expect(await response.json()).toEqual({
      id: 'chatcmpl-offline-1',
      object: 'chat.completion',
      created: expect.any(Number),
      model: MODEL,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            refusal: null,
            tool_calls: [
              {
                id: 'call_1_1',
                type: 'function',
                function: { name: 'calculate', arguments: '{"expression":"15*8+32"}' },
              },
            ],
          },
          logprobs: null,
          finish_reason: 'tool_calls',
        },
      ],
      usage: expect.objectContaining({ completion_tokens: Math.ceil(('calculate'.length + 24) / 4) }),
    })
  })

  it('estimates usage at 4 bytes a token, the same every time', async () => {
    const endpoint = await start()
    const body = { model: MODEL, messages: [ask('讲个笑话')] }
    const usages = await Promise.all(
      [1, 2].map(async () => ((await (await post(endpoint, body)).json()) as ChatCompletion).usage),
    )
    const bytes = Buffer.byteLength(JSON.stringify({ messages: body.messages }))
    expect(usages[0]).toMatchObject({ prompt_tokens: Math.ceil(bytes / 4) })
    expect(usages[0]?.total_tokens).toBe(
      (usages[0]?.prompt_tokens ?? 0) + (usages[0]?.completion_tokens ?? 0),
    )
    expect(usages[1]).toEqual(usages[0])
  })

  it('is streamed in small pieces that spell the same reply', async () => {
    const endpoint = await start()
    const body = { model: MODEL, messages: [ask(QUESTION)], tools }
    const whole = (await (await post(endpoint, body)).json()) as ChatCompletion
    const response = await post(endpoint, { ...body, stream: true, stream_options: { include_usage: true } })
    expect(response.headers.get('content-type')).toMatch('text/event-stream')
    const events = eventsOf(await response.text())
    expect(events.at(-1)).toBe('[DONE]')
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event) as ChatCompletionChunk)
    expect(chunks.every((chunk) => chunk.object === 'chat.completion.chunk')).toBe(true)
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1)
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: null, refusal: null })

    const entries = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])
    const calls = [0, 1].map((index) => {
      const [first, ...rest] = entries.filter((entry) => entry.index === index)
      expect(rest.length).toBeGreaterThan(1)
      expect(rest.every((entry) => entry.id === undefined && entry.function?.name === undefined)).toBe(true)
      expect(first?.function?.arguments).toBe('')
      const args = rest.map((entry) => entry.function?.arguments ?? '').join('')
      return { id: first?.id, type: first?.type, function: { name: first?.function?.name, arguments: args } }
    })
    expect(calls).toEqual(whole.choices[0]?.message.tool_calls)

    const [finish, usage] = chunks.slice(-2)
    expect(finish?.choices[0]).toMatchObject({ delta: {}, finish_reason: 'tool_calls' })
    expect(usage).toMatchObject({ choices: [], usage: whole.usage })
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true)
  })

  it('streams text in pieces, and usage only if asked', async () => {
    const endpoint = await start()
    const response = await post(endpoint, { model: MODEL, messages: [ask('hello')], stream: true })
    const chunks = eventsOf(await response.text())
      .slice(0, -1)
      .map((event) => JSON.parse(event) as ChatCompletionChunk)
    const pieces = chunks.flatMap((chunk) => chunk.choices[0]?.delta.content || [])
    expect(pieces.length).toBeGreaterThan(3)
    expect(pieces.join('')).toMatch(/stand-in/)
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop')
    expect(chunks.some((chunk) => 'usage' in chunk)).toBe(false)
  })
})

describe('the openai SDK', () => {
  it('holds a whole conversation with the example tools', async () => {
    const endpoint = await start({ apiKey: 'secret' })
    const client = sdk(endpoint, 'secret')
    const messages: ChatCompletionMessageParam[] = [{ role: 'system', content: 'Be brief.' }, ask(QUESTION)]
    const first = await client.chat.completions.create({ model: endpoint.model, messages, tools })
    const [choice] = first.choices
    if (choice === undefined) throw new Error('no choice')
    messages.push(choice.message)
    for (const call of choice.message.tool_calls ?? []) {
      if (call.type !== 'function') throw new Error(call.type)
      const tool = exampleTools.find(({ name }) => name === call.function.name)
      const value = tool && (await callTool(tool, JSON.parse(call.function.arguments)))
      messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(value) })
    }
    const second = await client.chat.completions.create({ model: endpoint.model, messages, tools })
    expect(second.choices[0]).toMatchObject({
      message: { content: '北京：晴，26 °C，湿度 40%（示例数据，并非预报）。15*8+32 = 152。' },
      finish_reason: 'stop',
    })
    expect(endpoint.requests).toBe(2)
  })

  it('puts a stream together', async () => {
    const endpoint = await start()
    const stream = sdk(endpoint).chat.completions.stream({
      model: MODEL,
      messages: [ask(QUESTION)],
      tools,
      stream_options: { include_usage: true },
    })
    const completion = await stream.finalChatCompletion()
    expect(completion.choices[0]?.message.tool_calls).toMatchObject([
      { id: 'call_1_1', function: { name: 'get_weather', arguments: '{"city":"北京"}' } },
      { id: 'call_1_2', function: { name: 'calculate', arguments: '{"expression":"15*8+32"}' } },
    ])
    expect(completion.usage?.total_tokens).toBeGreaterThan(0)
  })

  it('lists the models', async () => {
    const endpoint = await start({ models: ['a', 'b'] })
    expect(endpoint.model).toBe('a')
    const ids: string[] = []
    for await (const model of sdk(endpoint).models.list()) ids.push(model.id)
    expect(ids).toEqual(['a', 'b'])
  })

  it('reads the errors', async () => {
    const endpoint = await start({ apiKey: 'secret' })
    const create = (apiKey: string, model: string): Promise<unknown> =>
      sdk(endpoint, apiKey).chat.completions.create({ model, messages: [ask('hi')] })
    await expect(create('wrong', MODEL)).rejects.toSatisfy(
      (error) => error instanceof OpenAI.AuthenticationError && error.code === 'invalid_api_key',
    )
    await expect(create('secret', 'gpt-9')).rejects.toSatisfy(
      (error) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found',
    )
    expect(endpoint.requests).toBe(0)
  })
})

describe('refused', () => {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'calculate', arguments: '{}' } })
  const calls = (...ids: string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map(call) })
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: '1' })
  const question = { role: 'user', content: '1+1' }
  const sent = (...messages: unknown[]) => ({ model: MODEL, messages: [question, ...messages] })

  it.each<[string, unknown, string | null, string | null]>([
    ['broken JSON', '{"model":', null, null],
    ['an empty body', '', null, null],
    ['a body without fields', '[]', 'missing_required_parameter', 'model'],
    ['no messages', { model: MODEL }, 'missing_required_parameter', 'messages'],
    ['messages that are no list', { model: MODEL, messages: 'hi' }, 'invalid_value', 'messages'],
    ['no message at all', { model: MODEL, messages: [] }, 'empty_array', 'messages'],
    ['a message that is none', sent(null), 'invalid_value', 'messages[1].role'],
    ['an unknown role', sent({ role: 'robot', content: 'x' }), 'invalid_value', 'messages[1].role'],
    ['content of a wrong type', sent({ role: 'user', content: 5 }), 'invalid_value', 'messages[1].content'],
    ['an empty user message', sent({ role: 'user', content: '' }), 'empty_message', 'messages[1]'],
    ['a call without a result', sent(calls('a')), 'call_unanswered', 'messages[2]'],
    [
      'a call with half its results',
      sent(calls('a', 'b'), result('a'), question),
      'call_unanswered',
      'messages[3]',
    ],
    ['a result without a call', sent(result('a')), 'result_without_call', 'messages[1]'],
    ['a result of another call', sent(calls('a'), result('b')), 'result_out_of_order', 'messages[2]'],
    [
      'a call id that is used twice',
      sent(calls('a', 'a'), result('a'), result('a')),
      'id_repeated',
      'messages[1]',
    ],
    ['an empty call id', sent(calls(''), result('')), 'id_empty', 'messages[1]'],
    ['a late system message', sent({ role: 'system', content: 'x' }), 'system_first', 'messages[1]'],
    ['an empty list of calls', sent({ ...calls(), content: 'x' }), 'empty_array', 'messages[1].tool_calls'],
    [
      'a call without arguments',
      sent({ ...calls(), tool_calls: [{ id: 'a', type: 'function', function: { name: 'x' } }] }),
      'missing_required_parameter',
      'messages[1].tool_calls[0].function.arguments',
    ],
    [
      'a result without the id of its call',
      sent({ role: 'tool', content: 'x' }),
      'missing_required_parameter',
      'messages[1].tool_call_id',
    ],
    ['an empty list of tools', { ...sent(), tools: [] }, 'empty_array', 'tools'],
    [
      'a tool without a name',
      { ...sent(), tools: [{ type: 'function' }] },
      'invalid_value',
      'tools[0].function.name',
    ],
    ['tool_choice without tools', { ...sent(), tool_choice: 'none' }, 'invalid_value', 'tool_choice'],
    [
      'parallel_tool_calls without tools',
      { ...sent(), parallel_tool_calls: false },
      'invalid_value',
      'parallel_tool_calls',
    ],
    [
      'a forced tool that is not there',
      { ...sent(), tools, tool_choice: { type: 'function', function: { name: 'x' } } },
      'invalid_value',
      'tool_choice',
    ],
    ['stream options without a stream', { ...sent(), stream_options: {} }, 'invalid_value', 'stream_options'],
  ])('is %s', async (_what, body, code, param) => {
    const endpoint = await start()
    const response = await post(endpoint, body)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', param, code },
    })
    expect(endpoint.requests).toBe(0)
  })

  it('is no valid exchange whose content comes in parts', async () => {
    const endpoint = await start()
    const parts = [{ type: 'text', text: '1+1' }]
    const messages = [
      { role: 'user', content: parts },
      calls('a', 'b'),
      { ...result('a'), content: parts },
      result('b'),
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] },
    ]
    expect((await post(endpoint, { model: MODEL, messages, tools: null })).status).toBe(200)
  })

  it('is a wrong key, path or method, with its status', async () => {
    const endpoint = await start({ apiKey: 'secret' })
    const headers = { authorization: 'Bearer secret' }
    const status = async (path: string, init: RequestInit): Promise<[number, unknown]> => {
      const response = await fetch(endpoint.baseURL + path, init)
      return [response.status, ((await response.json()) as { error: { code: unknown } }).error.code]
    }
    expect(await status('/models', {})).toEqual([401, 'invalid_api_key'])
    expect(await status('/models', { headers: { authorization: 'Bearer other' } })).toEqual([
      401,
      'invalid_api_key',
    ])
    expect(await status('/models', { method: 'POST', headers })).toEqual([405, 'method_not_allowed'])
    expect(await status('/chat/completions', { headers })).toEqual([405, 'method_not_allowed'])
    expect(await status('/constructor', { headers })).toEqual([404, null])
    expect((await fetch(`${endpoint.baseURL}/models?limit=5`, { headers })).status).toBe(200)
  })

  it('is a body above 10 MB, but not one just below', async () => {
    const endpoint = await start()
    const body = JSON.stringify({ model: MODEL, messages: [ask('x')] })
    const padded = (size: number): string => body + ' '.repeat(size - body.length)
    expect((await post(endpoint, padded(10_000_000))).status).toBe(200)
    const refused = await post(endpoint, padded(10_000_001))
    expect(refused.status).toBe(413)
    expect(await refused.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
  })

  it('is an empty list of models, or a port in use', async () => {
    await expect(startOfflineEndpoint({ models: [] })).rejects.toMatchObject({ code: 'invalid_option' })
    const port = Number(new URL((await start()).baseURL).port)
    await expect(startOfflineEndpoint({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })
})

describe('connections', () => {
  const stream = { model: MODEL, messages: [ask('hello')], stream: true }

  it('may break in the middle of a stream, of a request and while it waits', async () => {
    const endpoint = await start({ chunkDelayMs: 5 })
    const response = await post(endpoint, stream)
    const reader = response.body?.getReader()
    expect((await reader?.read())?.done).toBe(false)
    await reader?.cancel()

    const half = httpRequest(`${endpoint.baseURL}/chat/completions`, { method: 'POST' })
    half.on('error', () => undefined)
    half.setHeader('content-length', 1000)
    half.write('{')
    const [socket] = (await once(half, 'socket')) as [Socket]
    await once(socket, 'connect')
    half.destroy()

    const slow = await start({ latencyMs: 60_000 })
    const aborted = sdk(slow).chat.completions.create(
      { model: MODEL, messages: [ask('hello')] },
      { signal: AbortSignal.timeout(50) },
    )
    await expect(aborted).rejects.toBeInstanceOf(APIError)
    expect(slow.requests).toBe(0)

    for (const other of [endpoint, slow]) {
      expect((await fetch(`${other.baseURL}/models`)).status).toBe(200)
    }
  })

  it('are ended by close, which may be called again', async () => {
    const endpoint = await start({ chunkDelayMs: 60_000 })
    const response = await post(endpoint, stream)
    const text = response.text()
    const failed = expect(text).rejects.toThrow()
    await endpoint.close()
    await failed
    await endpoint.close()
    await expect(fetch(`${endpoint.baseURL}/models`)).rejects.toThrow()
  })

  it('end with the block that uses the endpoint', async () => {
    let baseURL = ''
    {
      await using endpoint = await startOfflineEndpoint()
      baseURL = endpoint.baseURL
      expect(baseURL).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/)
      expect((await fetch(`${baseURL}/models`)).status).toBe(200)
    }
    await expect(fetch(`${baseURL}/models`)).rejects.toThrow()
  })

  it('leave nothing behind that keeps a process alive', async () => {
    const script = `
      import { startOfflineEndpoint } from ${JSON.stringify(new URL('../../src/offline/index.ts', import.meta.url))}
      const endpoint = await startOfflineEndpoint({ latencyMs: 600_000 })
      const body = JSON.stringify({ model: endpoint.model, messages: [{ role: 'user', content: 'hello' }] })
      const url = endpoint.baseURL + '/chat/completions'
      await fetch(url, { method: 'POST', body, signal: AbortSignal.timeout(50) }).catch(() => {})
      await endpoint.close()
      console.log('closed')`
    const run = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
      timeout: 4000,
    })
    expect((await run).stdout).toBe('closed\n')
  })

  it('wait for the latency that was set', async () => {
    const endpoint = await start({ latencyMs: 40, chunkDelayMs: 1 })
    const started = performance.now()
    expect(eventsOf(await (await post(endpoint, stream)).text()).at(-1)).toBe('[DONE]')
    expect(performance.now() - started).toBeGreaterThan(38)
  })
})
