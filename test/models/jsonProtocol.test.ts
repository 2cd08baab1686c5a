import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createAgent,
  type Delta,
  type FinishReason,
  findViolations,
  type Message,
  type Model,
  type ModelReply,
  type ModelRequest,
  openaiChat,
  type ToolSpec,
} from '../../src/index.ts'
import { type JsonProtocolOptions, jsonProtocol } from '../../src/models/jsonProtocol.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { chunk, completion, loopback, sse } from '../support/loopback.ts'
import { expectAborted, expectDone, expectSendable } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'

const add: ToolSpec = {
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' } } },
}

const signal = new AbortController().signal

const base: ModelRequest = { messages: [{ role: 'user', content: 'hi' }], tools: [add], toolChoice: 'auto' }

/** What goes out to the inner model for this request. */
async function sent(request: Partial<ModelRequest>, options?: JsonProtocolOptions): Promise<ModelRequest> {
  const inner = scriptedModel(['{}'])
  await jsonProtocol(inner, options).generate({ ...base, ...request }, { signal })
  const [first] = inner.requests
  if (first === undefined) throw new Error('the inner model was not called')
  return first
}

/** What becomes of a reply of the inner model. */
function read(
  step: ScriptedStep,
  request: Partial<ModelRequest> = {},
  options?: JsonProtocolOptions,
): Promise<ModelReply> {
  return jsonProtocol(scriptedModel([step]), options).generate({ ...base, ...request }, { signal })
}

/** A model that says this, in these pieces. */
function saying(pieces: readonly string[], finish: FinishReason = 'stop'): Model {
  return {
    id: 'm',
    async generate(_request, { onDelta }) {
      for (const text of pieces) onDelta?.({ text })
      const text = pieces.join('')
      const message = { role: 'assistant', content: text } as const
      const usage = { inputTokens: 1, cachedTokens: 0, outputTokens: 1, reasoningTokens: 0 }
      return { text, toolCalls: [], finish, usage, message }
    },
  }
}

/** The calls of a reply as names with argument text. */
function callsOf({ toolCalls }: ModelReply): readonly (readonly [string, string])[] {
  return toolCalls.map(({ function: fn }) => [fn.name, fn.arguments] as const)
}

function rolesOf(messages: readonly Message[]): string {
  return messages.map(({ role }) => role[0]).join('')
}

const act = (input: unknown = { a: 1 }) =>
  JSON.stringify({ thought: 'Let me add.', action: 'add', action_input: input })

describe('a request', () => {
  it('describes the tools in the system message, and names none to the provider', async () => {
    const { messages, tools, toolChoice, responseFormat, stop } = await sent({})
    expect(rolesOf(messages)).toBe('su')
    const text = messages[0]?.content
    expect(text).toContain(
      `add: Adds two numbers.\nJSON Schema of its action_input: ${JSON.stringify(add.parameters)}`,
    )
    expect(text).toContain('"action_input"')
    expect(text).toContain('"final_answer"')
    expect({ tools, toolChoice, responseFormat, stop }).toEqual({
      tools: [],
      toolChoice: 'none',
      responseFormat: { type: 'json_object' },
      stop: ['\nObservation'],
    })
  })

  it('adds to the system message that there is, with the same bytes in every step', async () => {
    const system = { role: 'system', content: 'Be brief.' } as const
    const [user] = base.messages
    const first = await sent({ messages: [system, user as Message] })
    const later = await sent({
      messages: [
        system,
        user as Message,
        { role: 'assistant', content: 'yes' },
        { role: 'user', content: 'more' },
      ],
    })
    expect(first.messages[0]?.content).toMatch(/^Be brief\.\n\n/)
    expect(later.messages[0]).toEqual(first.messages[0])
    expect(later.messages.slice(0, 2)).toEqual(first.messages)
    expect(
      (await sent({ messages: [{ ...system, role: 'developer' }, user as Message] })).messages[0]?.role,
    ).toBe('developer')
  })

  it('leaves out what the options switch off, and keeps stop texts of its own', async () => {
    const { responseFormat, stop } = await sent({}, { responseFormat: false, stop: false })
    expect({ responseFormat, stop }).toEqual({ responseFormat: undefined, stop: undefined })
    expect((await sent({ stop: ['END'] })).stop).toEqual(['END', '\nObservation'])
  })

  it('asks for the schema of the protocol, where that is wanted', async () => {
    const { responseFormat } = await sent({}, { schema: true })
    const form = (properties: Record<string, unknown>) => ({
      type: 'object',
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
    })
    const text = { type: 'string' }
    expect(responseFormat).toEqual({
      type: 'json_schema',
      name: 'reply',
      schema: {
        type: 'object',
        anyOf: [
          form({ thought: text, action: { type: 'string', enum: ['add'] }, action_input: add.parameters }),
          form({ thought: text, final_answer: text }),
        ],
      },
    })
  })

  it('puts no schema with references inside another', async () => {
    const parameters = { type: 'object', properties: { next: { $ref: '#' } } }
    const { responseFormat } = await sent({ tools: [{ ...add, parameters }] }, { schema: true })
    expect(JSON.stringify(responseFormat)).not.toContain('$ref')
  })

  it.each<[string, Partial<ModelRequest>]>([
    ['that names no tools', { tools: [] }],
    ['in which tools are off', { toolChoice: 'none' }],
  ])('%s asks for a final answer only', async (_what, request) => {
    const { messages, stop, responseFormat } = await sent(request, { schema: true })
    expect(messages[0]?.content).toContain('"final_answer"')
    expect(messages[0]?.content).not.toContain('action')
    expect(messages[0]?.content).not.toContain('Adds two numbers')
    expect(stop).toBeUndefined()
    expect(JSON.stringify(responseFormat)).not.toContain('action')
  })

  it('says so when a tool has to be used', async () => {
    const { messages, responseFormat } = await sent({ toolChoice: 'required' }, { schema: true })
    expect(messages[0]?.content).toContain('This time, use a tool.')
    expect(JSON.stringify(responseFormat)).not.toContain('final_answer')
  })

  it('describes the schema of a structured answer, once', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } }
    const format = { type: 'json_schema', name: 'answer', schema } as const
    const { messages, responseFormat } = await sent({ responseFormat: format }, { schema: true })
    expect(messages[0]?.content).toContain(`fits this JSON Schema: ${JSON.stringify(schema)}`)
    expect(responseFormat).toMatchObject({
      schema: { anyOf: [{}, { properties: { final_answer: schema } }] },
    })
    const given = await sent({
      messages: [{ role: 'system', content: `Fit ${JSON.stringify(schema)}` }, ...base.messages],
      responseFormat: format,
    })
    expect(String(given.messages[0]?.content).split('"city"')).toHaveLength(2)
  })
})

describe('the history', () => {
  const call = (id: string, a: number) =>
    ({ id, type: 'function', function: { name: 'add', arguments: `{"a":${a}}` } }) as const
  const history: readonly Message[] = [
    { role: 'user', content: 'first' },
    {
      role: 'assistant',
      content: 'Two at once.',
      tool_calls: [call('x', 1), call('y', 2)],
      reasoning_content: 'hm',
    },
    { role: 'tool', tool_call_id: 'x', content: '10' },
    { role: 'tool', tool_call_id: 'y', content: '20' },
    { role: 'assistant', content: 'It is 30.' },
    { role: 'user', content: 'second' },
    { role: 'assistant', content: null, tool_calls: [call('z', 3)] },
    { role: 'tool', tool_call_id: 'z', content: 'Error (failed): no' },
    { role: 'user', content: 'third' },
  ]

  it('becomes actions, observations and answers, one in each turn', async () => {
    const { messages } = await sent({ messages: history })
    expect(messages.slice(1)).toEqual([
      { role: 'user', content: 'first' },
      {
        role: 'assistant',
        content: '{"thought":"Two at once.","action":"add","action_input":{"a":1}}',
        reasoning_content: 'hm',
      },
      { role: 'user', content: 'Observation from add: 10' },
      { role: 'assistant', content: '{"action":"add","action_input":{"a":2}}' },
      { role: 'user', content: 'Observation from add: 20' },
      { role: 'assistant', content: '{"final_answer":"It is 30."}' },
      { role: 'user', content: 'second' },
      { role: 'assistant', content: '{"action":"add","action_input":{"a":3}}' },
      { role: 'user', content: 'Observation from add: Error (failed): no\n\nthird' },
    ])
  })

  it('keeps pictures, also where user messages are put together', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:,x' } } as const
    const { messages } = await sent({
      messages: [
        { role: 'user', content: [image] },
        { role: 'user', content: 'What is it?' },
      ],
    })
    expect(messages.slice(1)).toEqual([
      { role: 'user', content: [image, { type: 'text', text: 'What is it?' }] },
    ])
  })

  it('shows structured answers as objects', async () => {
    const { messages } = await sent({
      messages: [...base.messages, { role: 'assistant', content: '{"city":"Oslo"}' }, ...base.messages],
      responseFormat: { type: 'json_object' },
    })
    expect(messages[2]?.content).toBe('{"final_answer":{"city":"Oslo"}}')
  })

  it('is sendable, and alternates, whatever it was', async () => {
    const said = fc.constantFrom<readonly Message[]>(
      [{ role: 'user', content: 'u' }],
      [{ role: 'assistant', content: 'a' }],
      history.slice(1, 4),
      history.slice(6, 8),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(said, { maxLength: 6 }), async (parts) => {
        const { messages } = await sent({ messages: [{ role: 'user', content: 'go' }, ...parts.flat()] })
        expect(findViolations(messages)).toEqual([])
        expect(rolesOf(messages)).toMatch(/^s(ua)*u?$/)
        expect(JSON.stringify(messages)).not.toContain('tool_call')
      }),
    )
  })
})

describe('a reply', () => {
  it('with an action is a call, with the thought as its text', async () => {
    const reply = await read({ text: act(), finish: 'stop', usage: { inputTokens: 7 } })
    const calls = [{ id: '', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }]
    expect(reply).toMatchObject({
      text: '',
      toolCalls: calls,
      finish: 'tool_calls',
      usage: { inputTokens: 7 },
    })
    expect(reply.message).toEqual({ role: 'assistant', content: 'Let me add.', tool_calls: calls })
  })

  it('with an answer is that text alone', async () => {
    const reply = await read('{"thought":"easy","final_answer":"It is 3."}')
    expect(reply).toMatchObject({ text: 'It is 3.', toolCalls: [], finish: 'stop' })
    expect(reply.message).toEqual({ role: 'assistant', content: 'It is 3.' })
  })

  it.each([
    ['bare', act()],
    ['fenced', `\`\`\`json\n${act()}\n\`\`\``],
    ['after text, even with braces', `I'll use {add} and {"x":1}:\n${act()}`],
    ['before text', `${act()}\nThat will help.`],
    ['after its thought as an object of its own', `{"thought":"hm"}\n${act()}`],
    ['in a list', `[${act()},${act({ a: 2 })}]`],
    ['with a comma too many', '{"action":"add","action_input":{"a":1,},}'],
    ['in the manner of Python', "{'thought': None, 'action': 'add', 'action_input': {'a': 1}}"],
    ['with a raw line break in its text', '{"thought":"one\ntwo","action":"add","action_input":{"a":1}}'],
    ['without its last brace', '{"action":"add","action_input":{"a":1}'],
    ['without its last brace, in a fence', '```\n{"action":"add","action_input":{"a":1}\n```'],
    ['with arguments as JSON text', act('{"a":1}')],
    ['with arguments as the text of a Python object', act("{'a': 1}")],
    ['with blanks around the name', '{"action":" add ","action_input":{"a":1}}'],
  ])('is read %s', async (_how, text) => {
    expect(callsOf(await read({ text }))).toEqual([['add', '{"a":1}']])
  })

  it.each([
    ['no arguments', '{"action":"add"}', '{}'],
    ['null', '{"action":"add","action_input":null}', '{}'],
    ['an empty text', '{"action":"add","action_input":""}', '{}'],
    ['a text that is not JSON, for the tool to refuse', act('Paris'), 'Paris'],
    ['a list, for the tool to refuse', act([1]), '[1]'],
    ['JSON text of its own form', act('{ "a": 1 }'), '{ "a": 1 }'],
    ['quotes and braces in its texts', act({ a: 'say "}}" \\' }), JSON.stringify({ a: 'say "}}" \\' })],
  ])('may have %s', async (_what, text, args) => {
    expect(callsOf(await read({ text }))).toEqual([['add', args]])
  })

  it('of several cycles counts up to its first action, and the rest is in no history', async () => {
    const text = `${act()}\nObservation from add: 99\n${act({ a: 99 })}\n{"final_answer":"It is 99."}`
    const reply = await read({ text })
    expect(callsOf(reply)).toEqual([['add', '{"a":1}']])
    expect(JSON.stringify(reply)).not.toContain('99')
    const broken = text.replace('{"a":1}', '{"a":1,}')
    expect(callsOf(await read({ text: broken }))).toEqual([['add', '{"a":1}']])
  })

  it('may name a tool that there is not: the loop answers that', async () => {
    expect(callsOf(await read('{"action":"subtract"}'))).toEqual([['subtract', '{}']])
  })

  it.each([
    [{}, ['add'], ''],
    [{ whenBoth: 'answer' } as const, [], 'It is 3.'],
  ])('with an action and an answer is what the policy %o says', async (options, names, text) => {
    const both = '{"action":"add","final_answer":"It is 3."}'
    const reply = await read(both, {}, options)
    expect(reply.toolCalls.map((call) => call.function.name)).toEqual(names)
    expect(reply.text).toBe(text)
    expect((await read(both, { toolChoice: 'none' }, options)).text).toBe('It is 3.')
  })

  it.each(['none', 'null', '', 'N/A', null])('whose action is %o has none', async (action) => {
    expect((await read(JSON.stringify({ action, action_input: {}, final_answer: 'Yes.' }))).text).toBe('Yes.')
  })

  it('may give its answer as an action, as many models were taught to', async () => {
    const text = '{"action":"Final Answer","action_input":"It is 3."}'
    expect(await read({ text })).toMatchObject({ text: 'It is 3.', toolCalls: [] })
    const tools = [{ ...add, name: 'final_answer' }]
    const own = await read('{"action":"final_answer","action_input":{"a":1}}', { tools })
    expect(callsOf(own)).toEqual([['final_answer', '{"a":1}']])
  })

  it.each([
    ['text', 'The sum is 3.', 'it begins with "The sum is 3."'],
    ['JSON of another kind', '{"tool":"add"}', 'not of the agreed form'],
    ['a list', '[1, 2]', 'not of the agreed form'],
    ['a thought and nothing else', '{"thought":"hm"}', 'neither an "action" nor a "final_answer"'],
    ['no action and no answer', '{"thought":"hm","action":null}', 'neither an "action" nor a "final_answer"'],
    ['an empty answer', '{"final_answer":" "}', 'neither an "action" nor a "final_answer"'],
    ['an action that is no text', '{"action":{"name":"add"}}', 'neither an "action" nor a "final_answer"'],
    ['an action that stops before its input', '{"action":"add"', 'has no end'],
    ['an action that stops within its input', '{"action":"add","action_input":{"a":1', 'has no end'],
    ['an action that may lack input', '{"action":"add","action_input":{"a":{"b":1}', 'has no end'],
    ['an action that stops within a text', '{"action":"add","action_input":{"a":1},"x":"}', 'has no end'],
    ['a broken object around an action', `{"plan": "x" "y": ${act()}, "fin`, 'Your last reply was discarded'],
  ])('of %s is a problem, told to the model', async (_what, text, problem) => {
    const reply = await read({ text })
    expect(reply).toMatchObject({ text: '', toolCalls: [], finish: 'unknown' })
    expect(reply.problem).toContain(problem)
    expect(reply.problem).toContain('Reply with exactly one JSON object: {"thought"')
    expect(reply.message).toEqual({ role: 'assistant', content: null })
  })

  it('of plain text is the answer where that is the policy, or where there are no tools', async () => {
    const text = 'The set {1} is it.'
    expect((await read(text, {}, { whenUnparseable: 'answer' })).text).toBe(text)
    expect((await read(text, { toolChoice: 'none' })).text).toBe(text)
    expect((await read(text, { tools: [] })).text).toBe(text)
  })

  it("of another form is questioned in words of one's own where there are some", async () => {
    const say = (problem: string) => `Again, please. ${problem}`
    expect((await read('no JSON', {}, { whenUnparseable: say })).problem).toMatch(
      /^Again, please\. Your last reply was discarded/,
    )
    expect((await read(act(), {}, { whenUnparseable: say })).problem).toBeUndefined()
  })

  it.each<[string, () => unknown]>([
    ['a promise that fails', () => Promise.reject(new Error('later'))],
    ['a number', () => 7],
    ['nothing', () => ''],
  ])('of another form is questioned in usual words where its own are %s', async (_what, say) => {
    const { problem } = await read('no JSON', {}, { whenUnparseable: say as () => string })
    expect(problem).toBe((await read('no JSON')).problem)
  })

  it('of another form names the function of the user that threw', async () => {
    const say = (): string => {
      throw new Error('bad words')
    }
    await expect(read('no JSON', {}, { whenUnparseable: say })).rejects.toThrow(
      'whenUnparseable threw: bad words',
    )
  })

  it.each([null, 'x', {}, true])('cannot be told what to do with one by %j', (whenUnparseable) => {
    expect(() => jsonProtocol(scriptedModel([]), { whenUnparseable: whenUnparseable as never })).toThrow(
      'whenUnparseable must be',
    )
  })

  it.each(['', ' \n'])('of %o is empty, which the loop knows how to answer', async (text) => {
    const reply = await read({ text })
    expect(reply).toMatchObject({ text: '', toolCalls: [] })
    expect(reply.problem).toBeUndefined()
  })

  it.each([
    ['within an action', '{"thought":"x","action":"add","action_input":{"a":1', ''],
    ['after all but the last brace', '{"action":"add","action_input":{"a":1}', ''],
    ['after an action that is not JSON', '{"action":"add","action_input":{"a":1,}}\nObs', ''],
    ['within the answer', '{"thought":"x","final_answer":"It is \\u0033 or mo', 'It is 3 or mo'],
    ['within plain text', 'It is', 'It is'],
  ])('that was cut off %s runs nothing', async (_where, text, partial) => {
    const reply = await read({ text, finish: 'length' })
    expect(reply).toMatchObject({ text: partial, toolCalls: [], finish: 'length' })
    expect(reply.message.content).toBe(partial || null)
    expect(reply.problem).toBeUndefined()
  })

  it.each([
    [act(), 'tool_calls'],
    ['{"final_answer":"It is 3."}', 'stop'],
  ])('that was cut off after %s is whole', async (json, finish) => {
    const reply = await read({ text: `${json}\nObservation: and on and on {"a`, finish: 'length' })
    expect(reply).toMatchObject({ finish, text: finish === 'stop' ? 'It is 3.' : '' })
    expect(reply.toolCalls).toHaveLength(finish === 'stop' ? 0 : 1)
  })

  it('that was refused or filtered stays so, and runs nothing', async () => {
    expect(await read({ text: act(), finish: 'content_filter' })).toMatchObject({
      toolCalls: [],
      finish: 'content_filter',
    })
    expect(await read({ text: '', refusal: 'No.' })).toMatchObject({ refusal: 'No.', toolCalls: [] })
  })

  it('with calls of the provider after all is taken as it is', async () => {
    expect(callsOf(await read({ calls: [{ name: 'add', arguments: { a: 1 } }] }))).toEqual([
      ['add', '{"a":1}'],
    ])
  })

  it('keeps what else the provider says in it', async () => {
    const inner = saying([act()])
    const reply = await jsonProtocol({
      id: 'm',
      async generate(request, io) {
        const said = await inner.generate(request, io)
        return { ...said, message: { ...said.message, reasoning_content: 'hm' }, model: 'm-1' }
      },
    }).generate(base, { signal })
    expect(reply).toMatchObject({
      model: 'm-1',
      message: { content: 'Let me add.', reasoning_content: 'hm' },
    })
  })

  it('may be structured: an object, its text, or the bare object', async () => {
    const responseFormat = { type: 'json_object' } as const
    const city = { city: 'Oslo' }
    for (const text of [
      JSON.stringify({ final_answer: city }),
      JSON.stringify({ final_answer: JSON.stringify(city) }),
      JSON.stringify(city),
    ]) {
      expect((await read({ text }, { responseFormat })).text).toBe('{"city":"Oslo"}')
    }
    expect((await read('{"final_answer":3}')).text).toBe('3')
  })

  it('never throws and never takes long, whatever it is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...'{}[]":,\\\na', '```', '"action"', '\ud83d', act())),
        fc.constantFrom('stop' as const, 'length' as const),
        async (pieces, finish) => {
          const reply = await jsonProtocol(saying(pieces, finish)).generate(base, { signal })
          expect(reply.toolCalls.length).toBeLessThanOrEqual(1)
        },
      ),
      { numRuns: 500 },
    )
    const started = performance.now()
    for (const piece of ['{', '{"a":', '"', 'x"y ', '{}', '```', ' ']) {
      for (const start of ['', '{"final_answer":"']) {
        await jsonProtocol(saying([start + piece.repeat(200_000)])).generate(base, { signal })
      }
    }
    expect(performance.now() - started).toBeLessThan(5000)
  })
})

describe('streaming', () => {
  /** Reads a reply that comes in these pieces. */
  async function streamed(pieces: readonly string[], options?: JsonProtocolOptions, request = {}) {
    const deltas: string[] = []
    const onDelta = (delta: Delta): void => void deltas.push(delta.text)
    const model = jsonProtocol(saying(pieces), options)
    const reply = await model.generate({ ...base, ...request }, { signal, onDelta })
    return { reply, deltas }
  }

  it('shows the answer as it grows, and nothing else', async () => {
    const { deltas } = await streamed([
      '{"thought": "hm", "fin',
      'al_answer": "It',
      ' is\\',
      'n3',
      '."}',
      '\n',
    ])
    expect(deltas).toEqual(['It', ' is', '\n3', '.'])
  })

  it('shows nothing of an action, and of what was invented after it', async () => {
    const { deltas } = await streamed([
      act({ final_answer: 'no' }),
      '\nObservation: x\n{"final_answer":"no"}',
    ])
    expect(deltas).toEqual([])
    expect((await streamed(['{"action":"add","final_answer":"no"}'])).deltas).toEqual([])
    const both = ['{"action":"add","action_input":{"x":[1,"}"]},"final_answer":"y', 'es"}']
    expect((await streamed(both, { whenBoth: 'answer' })).deltas).toEqual(['y', 'es'])
    expect((await streamed(['{"action":null,"final_answer":"y', 'es"}'])).deltas).toEqual(['y', 'es'])
  })

  it.each([
    ['text', 'The sum is 3.', { tools: [] }],
    ['an object', '{"final_answer":{"city":"Oslo"}}', {}],
    ['broken JSON', "{'final_answer': 'It is 3.'}", {}],
    ['broken in the midst of it', '{"final_answer":"He said "no" twice."}', {}],
    ['an escape that is none', '{"final_answer":"C:\\Users"}', {}],
    ['a later object', '{"note":1} {"final_answer":"yes"}', {}],
  ])('shows in the end what it could not show before: %s', async (_what, text, request) => {
    const { reply, deltas } = await streamed([...text], {}, request)
    expect(deltas.join('')).toBe(reply.text)
    expect(reply.text).not.toBe('')
  })

  it('shows nothing of which it is not sure before the reply is whole', async () => {
    const { deltas } = await streamed(['{"final_answer":"one\ntwo', ' three"}'])
    expect(deltas).toEqual(['one', '\ntwo three'])
  })

  it('joins to the answer, whatever it is and wherever it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', minLength: 1 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 9 }),
        async (answer, ascii, size) => {
          const json = JSON.stringify({ thought: answer, final_answer: `.${answer}` })
          const toAscii = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
          const text = ascii ? json.replace(/[^\0-\x7f]/g, toAscii) : json
          const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
          const { reply, deltas } = await streamed(pieces)
          expect(reply.text).toBe(`.${answer}`)
          expect(deltas.join('')).toBe(reply.text)
          if (answer.isWellFormed()) expect(deltas.every((delta) => delta.isWellFormed())).toBe(true)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('begins anew where the inner model does', async () => {
    const seen: string[] = []
    const inner: Model = {
      id: 'm',
      async generate(request, io) {
        io.onDelta?.({ text: '{"final_answer":"It i' })
        io.onReset?.()
        return scriptedModel(['{"final_answer":"It was 3."}']).generate(request, io)
      },
    }
    await jsonProtocol(inner).generate(base, {
      signal,
      onDelta: ({ text }) => seen.push(text),
      onReset: () => seen.push('(reset)'),
    })
    expect(seen.join('')).toBe('It i(reset)It was 3.')
  })

  it('is not asked for where nobody watches', async () => {
    let watched = true
    const inner = scriptedModel([
      (_request, io) => {
        watched = io.onDelta !== undefined
        return '{"final_answer":"x"}'
      },
    ])
    await jsonProtocol(inner).generate(base, { signal })
    expect(watched).toBe(false)
  })
})

describe('an agent', () => {
  it('reminds a model of the form, then gives up', async () => {
    const inner = scriptedModel(['Let me think.', 'Hm.'])
    const outcome = expectAborted(
      await createAgent({ model: jsonProtocol(inner), tools: [countingAdd()] }).run('go'),
    )
    expect(outcome.reason).toBe('malformed_response')
    expect(inner.requests[1]?.messages.at(-1)?.content).toContain('Reply with exactly one JSON object')
    expect(rolesOf(inner.requests[1]?.messages ?? [])).toBe('su')
    expect(outcome.transcript).toEqual([{ role: 'user', content: 'go' }])
  })

  it('runs nothing of a reply that was cut off, and the model may try again', async () => {
    const tool = countingAdd()
    const inner = scriptedModel([
      { text: '{"action":"add","action_input":{"a":1,"b":2}', finish: 'length' },
      '{"action":"add","action_input":{"a":1,"b":20}}',
      '{"final_answer":"21"}',
    ])
    const outcome = expectDone(await createAgent({ model: jsonProtocol(inner), tools: [tool] }).run('go'))
    expect(tool.runs).toEqual([{ a: 1, b: 20 }])
    expectSendable(outcome)
  })

  it('has as its closing answer what there is of one that was cut off', async () => {
    const inner = scriptedModel([
      '{"action":"add","action_input":{"a":1,"b":2}}',
      { text: '{"thought":"hm","final_answer":"It is prob', finish: 'length' },
    ])
    const agent = createAgent({ model: jsonProtocol(inner), tools: [countingAdd()], limits: { steps: 1 } })
    expect(expectDone(await agent.run('go')).output).toBe('It is prob')
  })

  it.each([false, true])('works over HTTP with the real SDK (streamed: %o)', async (isStreamed) => {
    const replies = [
      `Sure!\n\`\`\`json\n${JSON.stringify({ thought: 'add', action: 'add', action_input: { a: 1, b: 2 } })}\n\`\`\``,
      '{"thought":"done","final_answer":"It is 3 – é😀."}',
    ]
    const answers = replies.map((text) =>
      isStreamed
        ? sse([...[...text].map((content) => chunk({ content })), chunk({}, 'stop')])
        : completion({ content: text }),
    )
    await using server = await loopback(answers)
    const model = jsonProtocol(openaiChat('m', { baseURL: server.baseURL }))
    const agent = createAgent({ model, tools: [countingAdd()], instructions: 'Be brief.' })
    const run = isStreamed ? agent.stream('1+2?') : undefined
    const outcome = expectDone(await (run?.outcome ?? agent.run('1+2?')))
    expect(outcome.output).toBe('It is 3 – é😀.')
    expect(outcome.transcript).toMatchObject([
      { role: 'user', content: '1+2?' },
      {
        role: 'assistant',
        content: 'add',
        tool_calls: [{ function: { name: 'add', arguments: '{"a":1,"b":2}' } }],
      },
      { role: 'tool', content: '3' },
      { role: 'assistant', content: 'It is 3 – é😀.' },
    ])
    expectSendable(outcome)
    const body = server.requests[1]?.body
    expect(Object.keys(body ?? {})).not.toContain('tools')
    expect(Object.keys(body ?? {})).not.toContain('tool_choice')
    expect(body).toMatchObject({ response_format: { type: 'json_object' }, stop: ['\nObservation'] })
    expect(body?.messages).toMatchObject([
      { role: 'system' },
      { role: 'user', content: '1+2?' },
      { role: 'assistant', content: '{"thought":"add","action":"add","action_input":{"a":1,"b":2}}' },
      { role: 'user', content: 'Observation from add: 3' },
    ])
    if (run === undefined) return
    let shown = ''
    for await (const event of run) if (event.type === 'model.delta') shown += event.text
    expect(shown).toBe('It is 3 – é😀.')
  })

  it('cannot be made around no model', () => {
    expect(() => jsonProtocol(undefined as never)).toThrow(/needs a model to wrap/)
  })
})
