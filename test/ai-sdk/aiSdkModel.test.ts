import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { type AiSdkLanguageModel, type AiSdkModelOptions, aiSdkModel } from '../../src/ai-sdk/index.ts'
import { createAgent, type Delta, type Message, MisuseError } from '../../src/index.ts'
import type { ModelRequest } from '../../src/models/model.ts'
import { expectAborted, expectDone, rejectionOf } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'

const hello: ModelRequest = { messages: [{ role: 'user', content: 'hi' }], tools: [], toolChoice: 'auto' }

interface Fake extends AiSdkLanguageModel {
  /** The options of each call. */
  readonly calls: { readonly prompt: unknown; readonly [option: string]: unknown }[]
}

/** A language model that gives these results, one after the other; functions are called with the options. */
function fake(results: readonly unknown[], specificationVersion = 'v4', modelId = 'm'): Fake {
  const calls: Fake['calls'] = []
  const answer = async (options: object) => {
    const result = results[calls.length]
    calls.push(options as Fake['calls'][number])
    return typeof result === 'function' ? result(options) : result
  }
  return { specificationVersion, provider: 'fake', modelId, calls, doGenerate: answer, doStream: answer }
}

function result(content: unknown, rest: object = {}): object {
  return { content, finishReason: { unified: 'stop', raw: 'stop' }, usage: {}, warnings: [], ...rest }
}

function streamOf(...parts: unknown[]): object {
  return { stream: ReadableStream.from(parts) }
}

const finish = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} }

async function call(
  model: AiSdkLanguageModel,
  {
    stream = false,
    request = hello,
    ...options
  }: { stream?: boolean; request?: ModelRequest } & AiSdkModelOptions = {},
) {
  const deltas: Delta[] = []
  const { signal } = new AbortController()
  const reply = await aiSdkModel(model, options).generate(
    request,
    stream ? { signal, onDelta: (delta) => deltas.push(delta) } : { signal },
  )
  return { reply, deltas }
}

async function failing(
  outcome: unknown,
  { stream = false, ...options }: { stream?: boolean } & AiSdkModelOptions = {},
) {
  const give = () => {
    if (outcome instanceof Error) throw outcome
    return outcome
  }
  return rejectionOf(call(fake([give]), { stream, ...options }))
}

/** The prompt that these messages become. */
async function promptOf(messages: readonly Message[], specificationVersion?: string): Promise<unknown> {
  const model = fake([result([{ type: 'text', text: 'ok' }])], specificationVersion)
  await call(model, { request: { ...hello, messages } })
  return model.calls[0]?.prompt
}

describe('the models of the AI SDK', () => {
  it('fit, whatever version of the interface they have', () => {
    expectTypeOf<LanguageModelV2>().toExtend<AiSdkLanguageModel>()
    expectTypeOf<LanguageModelV3>().toExtend<AiSdkLanguageModel>()
    expectTypeOf<LanguageModelV4>().toExtend<AiSdkLanguageModel>()
    expect(aiSdkModel(fake([], 'v4', 'gpt-x')).id).toBe('gpt-x')
  })

  it.each(['gpt-4.1', undefined, {}, () => {}])('are not taken for what is none: %s', (model) => {
    expect(() => aiSdkModel(model as unknown as AiSdkLanguageModel)).toThrow(MisuseError)
  })

  it.each([
    ['gpt-5', {}, undefined],
    ['m', {}, 0],
    ['m', { temperature: null }, undefined],
    ['gpt-5', { temperature: 1 }, 1],
  ])('get a temperature that %s takes with %o', async (modelId, options, temperature) => {
    const model = fake([result([])], 'v4', modelId)
    await call(model, options)
    expect(model.calls[0]?.temperature).toBe(temperature)
  })
})

describe('a prompt', () => {
  const toolCall = (id: string, args = '{"a":1}') =>
    ({ id, type: 'function', function: { name: `tool_${id}`, arguments: args } }) as const

  it('has the results of a step in one message, with the names of their tools', async () => {
    expect(
      await promptOf([
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: 'Go.' },
        { role: 'assistant', content: 'Going.', tool_calls: [toolCall('a'), toolCall('b', 'not JSON')] },
        { role: 'tool', tool_call_id: 'a', content: '1' },
        { role: 'tool', tool_call_id: 'b', content: '2' },
        { role: 'user', content: 'And?' },
      ]),
    ).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Going.' },
          { type: 'tool-call', toolCallId: 'a', toolName: 'tool_a', input: { a: 1 } },
          { type: 'tool-call', toolCallId: 'b', toolName: 'tool_b', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'a', toolName: 'tool_a', output: { type: 'text', value: '1' } },
          { type: 'tool-result', toolCallId: 'b', toolName: 'tool_b', output: { type: 'text', value: '2' } },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'And?' }] },
    ])
  })

  const url = new URL('https://example.com/cat.png')
  it.each([
    ['v4', { type: 'url', url }, { type: 'data', data: 'AAAA' }],
    ['v3', url, 'AAAA'],
    ['v2', url, 'AAAA'],
  ])('has files as %s wants them', async (version, byUrl, inline) => {
    const content = [
      { type: 'image_url', image_url: { url: url.href } } as const,
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const,
      { type: 'file', mediaType: 'text/plain', data: { type: 'data', data: 'AAAA' } } as const,
    ]
    expect(await promptOf([{ role: 'user', content }], version)).toEqual([
      {
        role: 'user',
        content: [
          { type: 'file', mediaType: 'image/*', data: byUrl },
          { type: 'file', mediaType: 'image/png', data: inline },
          { type: 'file', mediaType: 'text/plain', data: inline },
        ],
      },
    ])
  })

  it.each([
    { type: 'file', file: { file_id: 'f_1' } } as const,
    { type: 'image_url', image_url: { url: 'no URL' } } as const,
    { type: 'input_audio' } as const,
  ])('cannot hold %o, which is said before anything is sent', async (part) => {
    await expect(promptOf([{ role: 'user', content: [part] }])).rejects.toMatchObject({
      code: 'bad_request',
      retryable: false,
    })
  })
})

describe('a result', () => {
  it('gives text and calls, and leaves out what the provider did itself', async () => {
    const { reply } = await call(
      fake([
        result([
          { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com' },
          { type: 'text', text: 'Hel' },
          { type: 'tool-call', toolCallId: 'p', toolName: 'search', input: '{}', providerExecuted: true },
          { type: 'tool-result', toolCallId: 'p', toolName: 'search', result: {} },
          { type: 'text', text: 'lo' },
          { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: '{"x":1}' },
          { type: 'tool-call', toolCallId: 'b', toolName: 'f', input: { x: 2 } },
          { type: 'tool-call', toolName: 'f' },
          { type: 'tool-call' },
          null,
        ]),
      ]),
    )
    expect(reply.text).toBe('Hello')
    expect(reply.toolCalls.map(({ id, function: fn }) => [id, fn.name, fn.arguments])).toEqual([
      ['a', 'f', '{"x":1}'],
      ['b', 'f', '{"x":2}'],
      ['', 'f', ''],
    ])
    expect(reply.message).toEqual({ role: 'assistant', content: 'Hello', tool_calls: reply.toolCalls })
  })

  it.each([
    ['v2', { inputTokens: 9, outputTokens: 5, totalTokens: 14, cachedInputTokens: 4, reasoningTokens: 3 }],
    ['v4', { inputTokens: { total: 9, cacheRead: 4 }, outputTokens: { total: 5, reasoning: 3 } }],
  ])('has usage as %s tells of it', async (_version, usage) => {
    const { reply } = await call(fake([result([], { usage })]))
    expect(reply.usage).toEqual({ inputTokens: 9, cachedTokens: 4, outputTokens: 5, reasoningTokens: 3 })
  })

  it.each([
    ['missing', undefined],
    ['unknown', { inputTokens: { total: undefined }, outputTokens: undefined }],
  ])('may have usage that is %s', async (_what, usage) => {
    const { reply } = await call(fake([result([], { usage })]))
    expect(reply.usage).toEqual({ inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 })
  })

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool-calls', 'tool_calls'],
    ['content-filter', 'content_filter'],
    ['interrupted', 'unknown'],
    [undefined, 'unknown'],
  ])('that ends with %s is said to end with %s', async (reason, expected) => {
    const old = await call(fake([result([], { finishReason: reason })]))
    const recent = await call(fake([result([], { finishReason: { unified: reason, raw: 'x' } })]))
    expect([old.reply.finish, recent.reply.finish]).toEqual([expected, expected])
  })
})

describe('a streamed result', () => {
  it('gives the text as it comes, and the whole at the end', async () => {
    const model = fake([
      streamOf(
        { type: 'stream-start', warnings: [] },
        { type: 'response-metadata', modelId: 'm-2' },
        { type: 'raw', rawValue: {} },
        { type: 'reasoning-start', id: '0', providerMetadata: { p: { draft: true } } },
        { type: 'reasoning-delta', id: '0', delta: 'Hm' },
        { type: 'reasoning-delta', id: '0', delta: '.' },
        { type: 'reasoning-end', id: '0', providerMetadata: { p: { signature: 'sig' } } },
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', delta: 'Hel' },
        { type: 'text-delta', id: '0', delta: 'lo' },
        { type: 'text-delta', id: '0' },
        { type: 'text-end', id: '0' },
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', delta: '!' },
        { type: 'tool-input-start', id: 'a', toolName: 'f' },
        { type: 'tool-input-delta', id: 'a', delta: '{}' },
        { type: 'tool-input-end', id: 'a' },
        { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: '{}' },
        null,
        { ...finish, finishReason: 'tool-calls', usage: { inputTokens: 3, outputTokens: 2 } },
      ),
    ])
    const { reply, deltas } = await call(model, { stream: true })
    const toolCalls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }]
    expect(deltas).toEqual([{ text: 'Hel' }, { text: 'lo' }, { text: '!' }])
    expect(reply).toEqual({
      text: 'Hello!',
      toolCalls,
      finish: 'tool_calls',
      usage: { inputTokens: 3, cachedTokens: 0, outputTokens: 2, reasoningTokens: 0 },
      message: {
        role: 'assistant',
        content: 'Hello!',
        tool_calls: toolCalls,
        ai_sdk_parts: [
          { type: 'reasoning', text: 'Hm.', providerMetadata: { p: { signature: 'sig' } } },
          { type: 'text', text: 'Hello' },
          { type: 'text', text: '!' },
          { type: 'tool-call' },
        ],
      },
      model: 'm-2',
    })
  })
})

describe('what only the provider understands', () => {
  const signature = { p: { signature: 'sig' } }
  const thinking = [
    { type: 'reasoning', text: 'Hm.', providerMetadata: signature },
    { type: 'text', text: 'Adding.' },
    { type: 'reasoning', text: '', providerMetadata: { p: { redacted: 'x' } } },
    {
      type: 'tool-call',
      toolCallId: '',
      toolName: 'add',
      input: '{"a":1,"b":2}',
      providerMetadata: signature,
    },
    { type: 'custom', kind: 'p.compaction', providerMetadata: signature },
  ]

  it('is sent back in its place, with calls as the transcript has them', async () => {
    const model = fake([result(thinking), result([{ type: 'text', text: 'It is 3.' }])])
    const outcome = expectDone(
      await createAgent({ model: aiSdkModel(model), tools: [countingAdd()] }).run('1+2?'),
    )
    expect(outcome.output).toBe('It is 3.')
    const [, assistant] = outcome.transcript
    const id = assistant?.role === 'assistant' ? assistant.tool_calls?.[0]?.id : undefined
    expect(id).toBeTruthy()
    expect(model.calls[1]?.prompt).toEqual([
      { role: 'user', content: [{ type: 'text', text: '1+2?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.', providerOptions: signature },
          { type: 'text', text: 'Adding.' },
          { type: 'reasoning', text: '', providerOptions: { p: { redacted: 'x' } } },
          {
            type: 'tool-call',
            toolCallId: id,
            toolName: 'add',
            input: { a: 1, b: 2 },
            providerOptions: signature,
          },
          { type: 'custom', kind: 'p.compaction', providerOptions: signature },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: id, toolName: 'add', output: { type: 'text', value: '3' } },
        ],
      },
    ])
  })

  const asked: Message = { role: 'user', content: 'Go.' }
  const said: Message = {
    role: 'assistant',
    content: 'Adding.',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'add', arguments: '{}' } }],
    ai_sdk_parts: [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Adding.' },
      { type: 'tool-call' },
    ],
  }
  it.each([
    ['text was edited', { ...said, content: 'Adding!' }, 'Adding!', 1],
    ['calls were taken out', { ...said, tool_calls: [] }, 'Adding.', 0],
    ['parts are nonsense', { ...said, ai_sdk_parts: 7 }, 'Adding.', 1],
  ])('is left out of a message whose %s', async (_what, message, text, calls) => {
    const callPart = { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: {} }
    expect(await promptOf([asked, message])).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Go.' }] },
      { role: 'assistant', content: [{ type: 'text', text }, ...Array(calls).fill(callPart)] },
    ])
  })
})

describe('a call that fails', () => {
  const named = (name: string, rest: object = {}) => Object.assign(new Error('said so'), { name, ...rest })
  const apiError = (rest: object) => named('AI_APICallError', rest)
  const cases: [string, unknown, object, boolean?][] = [
    [
      'a status, of any copy of the SDK',
      apiError({ statusCode: 429, isRetryable: true, responseHeaders: { 'retry-after-ms': '250' } }),
      { code: 'rate_limit', status: 429, retryable: true, retryAfterMs: 250 },
    ],
    [
      'a status that the provider knows to be final',
      apiError({ statusCode: 500, isRetryable: false }),
      { code: 'overloaded', retryable: false },
    ],
    [
      'a quota that the provider would try again',
      apiError({ statusCode: 429, isRetryable: true, data: { error: { code: 'insufficient_quota' } } }),
      { code: 'quota_exceeded', retryable: false },
    ],
    ['headers that make no sense', apiError({ statusCode: 429, responseHeaders: 7 }), { code: 'rate_limit' }],
    ['no connection', apiError({ isRetryable: true }), { code: 'connection', retryable: true }],
    ['a body without sense', named('AI_JSONParseError'), { code: 'malformed_reply', retryable: true }],
    ['a lack', named('AI_UnsupportedFunctionalityError'), { code: 'bad_request', retryable: false }],
    ['no key', named('AI_LoadAPIKeyError'), { code: 'authentication', retryable: false }],
    ['an error of any kind', new TypeError('oops'), { code: 'connection', retryable: true }],
    ['nothing', undefined, { code: 'malformed_reply', retryable: true }],
    ['no content', { content: null }, { code: 'malformed_reply', retryable: true }],
    ['an ending in error', result([], { finishReason: 'error' }), { code: 'overloaded', retryable: true }],
    ['no stream', {}, { code: 'malformed_reply', retryable: true }, true],
    ['a stream of nothing', streamOf(), { code: 'malformed_reply', retryable: true }, true],
    [
      'a stream that breaks off',
      streamOf({ type: 'text-delta', id: '0', delta: 'Hel' }),
      { code: 'malformed_reply', retryable: true },
      true,
    ],
    [
      'an error in a stream',
      streamOf({ type: 'error', error: apiError({ statusCode: 529, isRetryable: true }) }, finish),
      { code: 'overloaded', status: 529, retryable: true },
      true,
    ],
    [
      'a bare text for an error in a stream',
      streamOf({ type: 'error', error: 'busy' }, finish),
      { code: 'overloaded', message: 'busy', retryable: true },
      true,
    ],
  ]
  it.each(cases)('with %s is told by its code', async (_what, outcome, expected, stream) => {
    expect(await failing(outcome, { stream: stream === true })).toMatchObject({
      name: 'ModelError',
      ...expected,
    })
  })

  const never = new Promise<never>(() => {})
  it.each([
    ['does not answer', () => never, { timeoutMs: 20 }, false],
    ['does not begin its stream', () => ({ stream: new ReadableStream() }), { timeoutMs: 20 }, true],
    [
      'stalls',
      () => ({ stream: new ReadableStream({ start: (c) => c.enqueue({ type: 'ping' }) }) }),
      { idleTimeoutMs: 20 },
      true,
    ],
  ])('because a deaf provider %s is given up', async (_what, give, options, stream) => {
    expect(await call(fake([give]), { ...options, stream }).catch((error: unknown) => error)).toMatchObject({
      code: 'timeout',
      retryable: true,
    })
  })

  it('in vain is not heard of any more: a deaf provider that goes on tells nobody', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancelled = Promise.withResolvers<void>()
    async function* parts() {
      try {
        yield { type: 'text-delta', id: '0', delta: 'Hel' }
        await promise
        yield { type: 'text-delta', id: '0', delta: 'lo' }
      } finally {
        cancelled.resolve()
      }
    }
    const controller = new AbortController()
    const deltas: Delta[] = []
    const reply = aiSdkModel(fake([{ stream: parts() }])).generate(hello, {
      signal: controller.signal,
      onDelta(delta) {
        deltas.push(delta)
        controller.abort()
      },
    })
    await expect(reply).rejects.toThrow()
    resolve()
    await cancelled.promise
    expect(deltas).toEqual([{ text: 'Hel' }])
  })

  it('because it was aborted has told the provider so', async () => {
    const told = Promise.withResolvers<void>()
    const model = fake([
      ({ abortSignal }: { abortSignal: AbortSignal }) => {
        abortSignal.addEventListener('abort', () => told.resolve())
        return never
      },
    ])
    const controller = new AbortController()
    const running = createAgent({ model: aiSdkModel(model) }).run('hi', { signal: controller.signal })
    await expect.poll(() => model.calls.length).toBe(1)
    controller.abort()
    expect(expectAborted(await running).reason).toBe('cancelled')
    await told.promise
  })
})
