import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type AgentEvent,
  agentAsTool,
  createAgent,
  defineTool,
  ModelError,
  memoryJournal,
  type UserMessage,
} from '../../src/index.ts'
import { otel } from '../../src/otel/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { AsyncContexts, parentOf, recorder } from './support.ts'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  run: async ({ a, b }) => a + b,
})
const fail = defineTool({
  name: 'fail',
  description: 'Fails.',
  input: z.object({}),
  run: async () => {
    throw new Error('the secret is 4711')
  },
})

const sums: readonly ScriptedStep[] = [
  {
    calls: [
      { name: 'add', arguments: { a: 1, b: 2 }, id: 'first' },
      { name: 'add', arguments: { a: 3, b: 4 }, id: 'second' },
    ],
    usage: { inputTokens: 7, outputTokens: 5, cachedTokens: 3 },
  },
  { text: '3 and 7.', usage: { inputTokens: 11, outputTokens: 6, reasoningTokens: 2 } },
]

function adder(script: readonly ScriptedStep[] = sums) {
  return createAgent({ name: 'adder', model: scriptedModel(script), tools: [add, fail], modelRetries: 1 })
}

describe('the spans of a run', () => {
  it('are one for the agent, and in it one for each model call and each tool call', async () => {
    const recorded = recorder()
    const agent = adder()
    await agent.run('Sums?', { onEvent: otel({ ...recorded.options, agent: agent.options }) })
    expect(recorded.spans().map(({ name }) => name)).toEqual([
      'chat scripted',
      'execute_tool add',
      'execute_tool add',
      'chat scripted',
      'invoke_agent adder',
    ])
    const run = recorded.span('invoke_agent adder')
    expect(parentOf(run)).toBeUndefined()
    for (const span of recorded.spans()) {
      if (span !== run) expect(parentOf(span)).toBe(run.spanContext().spanId)
    }
  })

  it('say by the conventions what was asked, answered and used', async () => {
    const recorded = recorder()
    const agent = adder()
    const { runId } = await agent.run('Sums?', {
      onEvent: otel({ ...recorded.options, agent: agent.options, provider: 'openai' }),
    })
    const run = recorded.span('invoke_agent adder')
    expect(run.kind).toBe(SpanKind.INTERNAL)
    expect(run.status.code).toBe(SpanStatusCode.UNSET)
    expect(run.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'openai',
      'gen_ai.agent.name': 'adder',
      'gen_ai.request.model': 'scripted',
      'gen_ai.usage.input_tokens': 18,
      'gen_ai.usage.output_tokens': 11,
      'gen_ai.usage.cache_read.input_tokens': 3,
      'gen_ai.usage.reasoning.output_tokens': 2,
      'loopchart.run.id': runId,
      'loopchart.run.resumed': false,
      'loopchart.run.status': 'done',
      'loopchart.run.steps': 2,
    })
    const [first] = recorded.spansNamed('chat scripted')
    expect(first?.kind).toBe(SpanKind.CLIENT)
    expect(first?.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.agent.name': 'adder',
      'gen_ai.request.model': 'scripted',
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.usage.output_tokens': 5,
      'gen_ai.usage.cache_read.input_tokens': 3,
      'loopchart.place': 'model.1.1',
      'loopchart.closing': false,
    })
    const [tool] = recorded.spansNamed('execute_tool add')
    expect(tool?.kind).toBe(SpanKind.INTERNAL)
    expect(tool?.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.provider.name': 'openai',
      'gen_ai.agent.name': 'adder',
      'gen_ai.tool.name': 'add',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': 'first',
      'loopchart.place': 'tool.1.0',
    })
  })

  it('carry nothing of what was said unless that is asked for', async () => {
    const recorded = recorder()
    const secret = /4711|Sums|and 7|"a"/
    const script: readonly ScriptedStep[] = [{ calls: [{ name: 'fail', id: 'x' }] }, ...sums]
    await adder(script).run('Sums? 4711', { onEvent: otel(recorded.options) })
    const told = recorded.spans().map(({ attributes, status, events }) => ({ attributes, status, events }))
    expect(JSON.stringify(told)).not.toMatch(secret)
  })

  it('carry what was said in the form of the conventions where that is asked for', async () => {
    const recorded = recorder()
    const telemetry = otel({ ...recorded.options, captureContent: true })
    await adder().run('Sums?', { onEvent: telemetry })
    const [tool] = recorded.spansNamed('execute_tool add')
    expect(tool?.attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"a":1,"b":2}',
      'gen_ai.tool.call.result': '3',
    })
    const [asked] = recorded.spansNamed('chat')
    expect(JSON.parse(String(asked?.attributes['gen_ai.output.messages']))).toEqual([
      {
        role: 'assistant',
        finish_reason: 'tool_calls',
        parts: [
          { type: 'tool_call', id: 'first', name: 'add', arguments: '{"a":1,"b":2}' },
          { type: 'tool_call', id: 'second', name: 'add', arguments: '{"a":3,"b":4}' },
        ],
      },
    ])
    const answer = [
      { role: 'assistant', finish_reason: 'stop', parts: [{ type: 'text', content: '3 and 7.' }] },
    ]
    expect(JSON.parse(String(recorded.span('invoke_agent').attributes['gen_ai.output.messages']))).toEqual(
      answer,
    )
  })

  it('carry the request as it was sent where it is shown and asked for', async () => {
    const recorded = recorder()
    const agent = createAgent({ model: scriptedModel(sums), tools: [add], instructions: 'Be brief.' })
    const question: UserMessage = {
      role: 'user',
      content: [
        { type: 'text', text: 'What?' },
        { type: 'image_url', image_url: { url: 'https://example.com/sums.png' } },
      ],
    }
    await agent.run([question], { onEvent: otel({ ...recorded.options, captureContent: true }) })
    const attributes = recorded.spansNamed('chat').at(-1)?.attributes ?? {}
    expect(JSON.parse(String(attributes['gen_ai.system_instructions']))).toEqual([
      { type: 'text', content: 'Be brief.' },
    ])
    expect(JSON.parse(String(attributes['gen_ai.input.messages']))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'What?' }, { type: 'image_url' }] },
      expect.objectContaining({ role: 'assistant' }),
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'first', response: '3' }] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'second', response: '7' }] },
    ])
  })

  it('take place when the events happened, not when they were heard of', async () => {
    const recorded = recorder()
    const events: AgentEvent[] = []
    await adder().run('Sums?', { onEvent: (event) => events.push(event) })
    const telemetry = otel(recorded.options)
    // As though it had been an hour ago.
    for (const event of events) telemetry({ ...event, at: event.at - 3_600_000 })
    const run = recorded.span('invoke_agent')
    const [first, last] = [events[0], events.at(-1)]
    expect(run.startTime[0]).toBe(Math.floor(((first?.at ?? 0) - 3_600_000) / 1000))
    expect(run.endTime[0]).toBe(Math.floor(((last?.at ?? 0) - 3_600_000) / 1000))
  })
})

describe('what goes wrong', () => {
  it('is an error of the attempt that failed, and the next attempt is a span of its own', async () => {
    const recorded = recorder()
    const overloaded = new ModelError('overloaded', 'Too busy.', { retryable: true, retryAfterMs: 0 })
    await adder([overloaded, 'Hello.']).run('Hello?', { onEvent: otel(recorded.options) })
    const [failed, answered] = recorded.spansNamed('chat')
    expect(failed?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'Too busy.' })
    expect(failed?.attributes).toMatchObject({ 'error.type': 'overloaded', 'loopchart.place': 'model.1.1' })
    expect(answered?.status.code).toBe(SpanStatusCode.UNSET)
    expect(answered?.attributes['loopchart.place']).toBe('model.1.2')
    const { events, status } = recorded.span('invoke_agent')
    expect(status.code).toBe(SpanStatusCode.UNSET)
    expect(events.map(({ name, attributes }) => [name, attributes?.['loopchart.attempts']])).toContainEqual([
      'loopchart.retry.scheduled',
      1,
    ])
  })

  it('is an error of the tool call that failed, not of the run', async () => {
    const recorded = recorder()
    await adder([{ calls: [{ name: 'fail' }] }, 'It failed.']).run('?', { onEvent: otel(recorded.options) })
    const { status, attributes } = recorded.span('execute_tool fail')
    expect(status.code).toBe(SpanStatusCode.ERROR)
    expect(attributes['error.type']).toBe('failed')
    expect(recorded.span('invoke_agent').status.code).toBe(SpanStatusCode.UNSET)
  })

  it('is an error of the run that has no answer, with its reason', async () => {
    const recorded = recorder()
    const refused = new ModelError('authentication', 'No such key.', { retryable: false })
    await adder([refused]).run('?', { onEvent: otel(recorded.options) })
    const { status, attributes } = recorded.span('invoke_agent')
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: expect.stringContaining('No such key.') })
    expect(attributes).toMatchObject({
      'error.type': 'model_error',
      'loopchart.run.status': 'aborted',
      'loopchart.run.reason': 'model_error',
    })
  })

  it('is no error where somebody cancelled it, and no span stays open', async () => {
    const recorded = recorder()
    const controller = new AbortController()
    const telemetry = otel(recorded.options)
    await adder([HANG]).run('?', {
      signal: controller.signal,
      onEvent(event) {
        telemetry(event)
        if (event.type === 'model.started') controller.abort()
      },
    })
    expect(
      recorded.spans().map(({ name, status, attributes }) => [name, status.code, attributes['error.type']]),
    ).toEqual([
      ['chat', SpanStatusCode.UNSET, 'cancelled'],
      ['invoke_agent', SpanStatusCode.UNSET, 'cancelled'],
    ])
  })

  it('leaves no span open where the end of a call was kept from the listener', async () => {
    const recorded = recorder()
    const telemetry = otel(recorded.options)
    await adder().run('Sums?', {
      onEvent: (event) => {
        if (event.type !== 'tool.finished' && event.type !== 'model.finished') telemetry(event)
      },
    })
    expect(recorded.spans()).toHaveLength(5)
  })

  it('names the limit that was reached', async () => {
    const recorded = recorder()
    const again: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 1 } }] }
    const agent = createAgent({ model: scriptedModel([again, 'Two.']), tools: [add], limits: { steps: 1 } })
    await agent.run('?', { onEvent: otel(recorded.options) })
    const { attributes, events } = recorded.span('invoke_agent')
    expect(attributes['loopchart.limit']).toBe('steps')
    expect(events.map(({ name }) => name)).toContain('loopchart.limit.reached')
    expect(recorded.spansNamed('chat').map((span) => span.attributes['loopchart.closing'])).toEqual([
      false,
      true,
    ])
  })
})

describe('where a span belongs', () => {
  const contexts = new AsyncContexts()
  beforeAll(() => {
    context.setGlobalContextManager(contexts)
  })
  afterAll(() => {
    context.disable()
  })

  it('a run belongs to what is active where it begins', async () => {
    const recorded = recorder()
    const { tracer } = recorded.options
    const request = tracer?.startSpan('GET /sums')
    if (request === undefined) throw new Error('There is no span.')
    await context.with(trace.setSpan(context.active(), request), () =>
      adder().run('Sums?', { onEvent: otel(recorded.options) }),
    )
    request.end()
    expect(parentOf(recorded.span('invoke_agent'))).toBe(request.spanContext().spanId)
    expect(new Set(recorded.spans().map((span) => span.spanContext().traceId)).size).toBe(1)
  })

  it.each([
    { seen: 'through the agent that calls it', isWatchedItself: false },
    { seen: 'through a listener of its own, too', isWatchedItself: true },
  ])('a run of a sub-agent belongs to the tool call, seen $seen', async ({ isWatchedItself }) => {
    const recorded = recorder()
    const telemetry = otel(recorded.options)
    const inner = adder()
    const watched = isWatchedItself
      ? {
          ...inner,
          run: (input: Parameters<typeof inner.run>[0], options: Parameters<typeof inner.run>[1]) =>
            inner.run(input, {
              ...options,
              onEvent(event) {
                telemetry(event)
                return options?.onEvent?.(event)
              },
            }),
        }
      : inner
    const outer = createAgent({
      model: scriptedModel([{ calls: [{ name: 'sums', arguments: { task: 'Sums?' } }] }, 'Done.']),
      tools: [agentAsTool(watched, { name: 'sums', description: 'Adds.' })],
    })
    await outer.run('?', { onEvent: telemetry })
    const call = recorded.span('execute_tool sums')
    const run = recorded.span('invoke_agent sums')
    expect(parentOf(run)).toBe(call.spanContext().spanId)
    for (const tool of recorded.spansNamed('execute_tool add')) {
      expect(parentOf(tool)).toBe(run.spanContext().spanId)
    }
    expect(recorded.spans()).toHaveLength(9)
    const durations = await recorded.histogram('gen_ai.client.operation.duration')
    const counts = durations.map(({ attributes, count }) => [attributes['gen_ai.operation.name'], count])
    expect(counts.filter(([operation]) => operation === 'chat').map(([, count]) => count)).toEqual([2, 2])
  })

  it('a run that goes on is linked to where it waited', async () => {
    const recorded = recorder()
    const telemetry = otel(recorded.options)
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({}),
      needsApproval: true,
      run: async () => 'paid',
    })
    const agent = createAgent({
      model: scriptedModel([{ calls: [{ name: 'pay', id: 'p' }] }, 'Paid.']),
      tools: [pay],
      journal: memoryJournal(),
    })
    const waiting = await agent.run('Pay.', { onEvent: telemetry })
    if (waiting.status !== 'waiting') throw new Error('The run does not wait.')
    const [approval] = waiting.approvals
    await agent.resume(waiting.runId, {
      decisions: [{ callId: 'p', approved: true, token: approval?.token ?? '' }],
      onEvent: telemetry,
    })
    const [before, after] = recorded.spansNamed('invoke_agent')
    expect(before?.attributes['loopchart.run.status']).toBe('waiting')
    expect(before?.status.code).toBe(SpanStatusCode.UNSET)
    expect(after?.attributes).toMatchObject({ 'loopchart.run.resumed': true, 'loopchart.run.status': 'done' })
    expect(after?.links.map((link) => link.context.spanId)).toEqual([before?.spanContext().spanId])
  })

  it('runs at the same time are kept apart', async () => {
    const recorded = recorder()
    const telemetry = otel(recorded.options)
    await Promise.all([1, 2, 3].map(() => adder().run('Sums?', { onEvent: telemetry })))
    const runs = recorded.spansNamed('invoke_agent')
    expect(runs).toHaveLength(3)
    for (const run of runs) {
      const children = recorded.spans().filter((span) => parentOf(span) === run.spanContext().spanId)
      expect(children).toHaveLength(4)
    }
  })
})

describe('the metrics', () => {
  it('are how long each operation took and what it used', async () => {
    const recorded = recorder()
    const agent = adder()
    await agent.run('Sums?', {
      onEvent: otel({ ...recorded.options, agent: agent.options, provider: 'openai' }),
    })
    const durations = await recorded.histogram('gen_ai.client.operation.duration')
    const counts = durations.map(({ attributes, count }) => [attributes['gen_ai.operation.name'], count])
    expect(counts.toSorted()).toEqual([
      ['chat', 2],
      ['execute_tool', 2],
      ['invoke_agent', 1],
    ])
    expect(durations[0]?.boundaries).toEqual([
      0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
    ])
    const tokens = await recorded.histogram('gen_ai.client.token.usage')
    expect(tokens.map(({ attributes, sum }) => [attributes['gen_ai.token.type'], sum])).toEqual([
      ['input', 18],
      ['output', 11],
    ])
    expect(tokens[0]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'scripted',
    })
    expect(tokens[0]?.boundaries.at(-1)).toBe(67_108_864)
  })

  it('tell errors apart, and nothing that tells one run from another', async () => {
    const recorded = recorder()
    await adder([{ calls: [{ name: 'fail' }] }, 'It failed.']).run('?', { onEvent: otel(recorded.options) })
    const durations = await recorded.histogram('gen_ai.client.operation.duration')
    const failed = durations.filter(({ attributes }) => attributes['error.type'] !== undefined)
    expect(failed.map(({ attributes }) => attributes)).toEqual([
      {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.provider.name': '_OTHER',
        'gen_ai.tool.name': 'fail',
        'error.type': 'failed',
      },
    ])
  })

  it('do not count tokens that are only estimated', async () => {
    const recorded = recorder()
    const script = [{ text: 'Hello.', usage: { inputTokens: 0, outputTokens: 0 } }]
    await adder(script).run('Hello?', { onEvent: otel(recorded.options) })
    expect(recorded.span('chat').attributes['gen_ai.usage.input_tokens']).toBeGreaterThan(0)
    expect(await recorded.histogram('gen_ai.client.token.usage')).toEqual([])
  })
})
