import { describe, expect, it } from 'vitest'
import type { ContentPart, Message, TokenCounter, ToolSpec } from '../../../src/index.ts'
import { tokenCounter } from '../../../src/index.ts'
import { MessageCounter, REQUEST_OVERHEAD } from '../../../src/memory/tokens/messageCounter.ts'

/** Counts a token for each character, and remembers what it was asked. */
function charCounter(): TokenCounter & { readonly asked: string[] } {
  const asked: string[] = []
  return {
    asked,
    count(text) {
      asked.push(text)
      return text.length
    },
  }
}

/** Tokens of a message whose every character is a token. */
const chars = (message: unknown): number => new MessageCounter(charCounter()).count(message as Message)

/** What surrounds a user message: 3, and its role. */
const USER = 3 + 'user'.length

const ofParts = (...content: readonly unknown[]): number => chars({ role: 'user', content }) - USER

const image = (url: string, detail?: 'low' | 'high' | 'auto'): ContentPart => ({
  type: 'image_url',
  image_url: { url, ...(detail === undefined ? {} : { detail }) },
})

const weatherTool: ToolSpec = {
  name: 'get_current_weather',
  description: 'Get the current weather in a given location',
  parameters: {
    type: 'object',
    properties: {
      location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' },
      unit: {
        type: 'string',
        description: 'The unit of temperature to return',
        enum: ['celsius', 'fahrenheit'],
      },
    },
    required: ['location'],
  },
}

/**
 * The examples of "How to count tokens with tiktoken" in OpenAI's cookbook, which gives the numbers that the API reported
 * for them. https://developers.openai.com/cookbook/examples/how_to_count_tokens_with_tiktoken
 */
describe('a request that was measured', () => {
  const system = (content: string, name?: string): Message =>
    ({ role: 'system', content, ...(name === undefined ? {} : { name }) }) as Message
  const jargon: readonly Message[] = [
    system(
      'You are a helpful, pattern-following assistant that translates corporate jargon into plain English.',
    ),
    system('New synergies will help drive top-line growth.', 'example_user'),
    system('Things working well together will increase revenue.', 'example_assistant'),
    system(
      "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
      'example_user',
    ),
    system("Let's talk later when we're less busy about how to do better.", 'example_assistant'),
    {
      role: 'user',
      content: "This late pivot means we don't have time to boil the ocean for the client deliverable.",
    },
  ]
  const weather: readonly Message[] = [
    system('You are a helpful assistant that can answer to questions about the weather.'),
    { role: 'user', content: "What's the weather like in San Francisco?" },
  ]

  it.each([
    { what: 'messages', model: 'gpt-4', messages: jargon, tools: [], reported: 129 },
    { what: 'messages', model: 'gpt-4o', messages: jargon, tools: [], reported: 124 },
    { what: 'messages and a tool', model: 'gpt-4', messages: weather, tools: [weatherTool], reported: 105 },
    { what: 'messages and a tool', model: 'gpt-4o', messages: weather, tools: [weatherTool], reported: 101 },
  ])('has the tokens that $model reported: $what', ({ model, messages, tools, reported }) => {
    const counter = new MessageCounter(tokenCounter(model))
    const ofMessages = messages.reduce((sum, message) => sum + counter.count(message), 0)
    expect(REQUEST_OVERHEAD + ofMessages + counter.tools(tools)).toBe(reported)
  })
})

describe('MessageCounter.count', () => {
  it('counts role, content and 3 for what surrounds them', () => {
    expect(chars({ role: 'user', content: 'hello' })).toBe(3 + 4 + 5)
    expect(chars({ role: 'developer', content: '' })).toBe(3 + 9)
  })

  it('counts a name and 1 for what surrounds it', () => {
    expect(chars({ role: 'user', content: 'hello', name: 'ann' })).toBe(3 + 4 + 5 + 1 + 3)
  })

  it('counts the name and the arguments of each call and 3 for what surrounds it, but no ids', () => {
    const call = (id: string) => ({ id, type: 'function', function: { name: 'add', arguments: '{"a":1}' } })
    expect(chars({ role: 'assistant', content: null, tool_calls: [call('c1'), call('call_2')] })).toBe(
      3 + 9 + 2 * (3 + 3 + 7),
    )
    expect(chars({ role: 'tool', tool_call_id: 'c1', content: 'ok' })).toBe(3 + 4 + 2)
  })

  it('counts what a provider added to a message or a call: a text as it is, anything else as JSON', () => {
    const bare = { role: 'assistant', content: 'a' }
    expect(chars({ ...bare, reasoning_content: 'hm "so"' })).toBe(chars(bare) + 7)
    expect(chars({ ...bare, refusal: null, annotations: [] })).toBe(chars(bare))
    expect(chars({ ...bare, audio: { id: 'x' } })).toBe(chars(bare) + '{"id":"x"}'.length)
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
    expect(chars({ ...bare, tool_calls: [{ ...call, signature: 'abc' }] })).toBe(
      chars({ ...bare, tool_calls: [call] }) + 3,
    )
  })

  it('counts what a service kept of its reply only once', () => {
    const bare = { role: 'assistant', content: 'hello' }
    const said = { type: 'message', content: [{ type: 'output_text', text: 'hello' }] }
    const reasoning = { type: 'reasoning', summary: 's' }
    expect(chars({ ...bare, response_items: [reasoning, said] })).toBe(
      chars(bare) + JSON.stringify([reasoning]).length,
    )
    expect(chars({ ...bare, ai_sdk_parts: [{ type: 'text', text: 'hello' }] })).toBe(chars(bare))
  })

  it('counts the text of parts', () => {
    expect(ofParts({ type: 'text', text: 'hello' }, { type: 'text', text: 'you' })).toBe(8)
  })

  it('estimates an image from its detail, not from its address', () => {
    const data = `data:image/png;base64,${'iVBORw0KGgo'.repeat(100_000)}`
    for (const url of ['https://example.com/cat.png', data]) {
      expect(ofParts(image(url, 'low'))).toBe(85)
      expect(ofParts(image(url, 'high'))).toBe(765)
      expect(ofParts(image(url, 'auto'))).toBe(765)
      expect(ofParts(image(url))).toBe(765)
      expect(ofParts({ type: 'input_image', image_url: url, detail: 'low' })).toBe(85)
    }
  })

  it('estimates audio and files from the length of their data', () => {
    const minuteOfWav = 'A'.repeat(60 * 64_000)
    expect(ofParts({ type: 'input_audio', input_audio: { data: minuteOfWav, format: 'wav' } })).toBe(600)
    expect(ofParts({ type: 'input_audio', input_audio: { data: 'A'.repeat(10_670), format: 'mp3' } })).toBe(
      10,
    )
    const page = ofParts({ type: 'file', file: { file_id: 'file-1' } })
    expect(page).toBe(700 + 765)
    expect(ofParts({ type: 'file', file: { file_data: 'A'.repeat(150_000) } })).toBe(3 * page)
    expect(ofParts({ type: 'input_file', file_data: 'A'.repeat(150_000) })).toBe(3 * page)
  })

  it('never takes base64 for text, wherever it is', () => {
    const base64 = 'QUJD'.repeat(100_000)
    const foreign = { type: 'image', source: { media_type: 'image/png', data: base64 } }
    expect(ofParts(foreign)).toBeLessThan(900)
    const bare = { role: 'assistant', content: 'a' }
    const thought = { type: 'reasoning', encrypted_content: base64 }
    expect(chars({ ...bare, response_items: [thought] })).toBeLessThan(900)
    expect(chars({ ...bare, signature: base64 })).toBe(chars(bare) + 765)
    expect(chars({ ...bare, signature: 'QUJD'.repeat(100) })).toBe(chars(bare) + 100)
  })

  it('counts each message once, known by its identity', () => {
    const counter = charCounter()
    const messages = new MessageCounter(counter)
    const message: Message = { role: 'user', content: 'hello' }
    const first = messages.count(message)
    const asked = counter.asked.length
    expect(messages.count(message)).toBe(first)
    expect(counter.asked).toHaveLength(asked)
    messages.count({ ...message })
    expect(counter.asked).toHaveLength(2 * asked)
  })

  it.each([
    null,
    undefined,
    'text',
    42,
    [],
    {},
    { role: 7, content: 7 },
    {
      role: 'user',
      content: [null, 'text', 7, {}, { type: 'text' }, { type: 'image_url' }, { type: 'file' }],
    },
    { role: 'user', content: [{ type: 'input_audio' }, { type: 'image_url', image_url: 'x' }, [[]]] },
    { role: 'assistant', content: null },
    { role: 'assistant', content: null, tool_calls: null },
    {
      role: 'assistant',
      tool_calls: [null, 'f', {}, { function: null }, { function: { arguments: { a: 1 } } }],
    },
    { role: 'assistant', content: '', response_items: 'x', ai_sdk_parts: [null] },
    { role: 'assistant', content: '', big: 1n },
    {
      role: 'tool',
      content: {
        toJSON: () => {
          throw new Error('no')
        },
      },
    },
    { role: 'user', content: cyclic() },
    { role: 'user', content: '\ud83d' },
  ])('never throws, whatever a message is: %o', (message) => {
    const counter = new MessageCounter(tokenCounter())
    const tokens = counter.count(message as Message)
    expect(tokens).toBeGreaterThanOrEqual(3)
    expect(counter.atMost(message as Message)).toBeGreaterThanOrEqual(tokens)
  })
})

function cyclic(): unknown {
  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  return cycle
}

describe('MessageCounter.atMost', () => {
  const message: Message = { role: 'user', content: 'hello 中国', name: 'ann' }

  it('is a bound, found without counting', () => {
    const counter = { ...charCounter(), atMost: (text: string) => 2 * text.length }
    const messages = new MessageCounter(counter)
    expect(messages.atMost(message)).toBe(3 + 2 * 4 + 2 * 8 + 1 + 2 * 3)
    expect(counter.asked).toEqual([])
    const exact = messages.count(message)
    expect(exact).toBe(3 + 4 + 8 + 1 + 3)
    expect(messages.atMost(message), 'the same after counting').toBeGreaterThan(exact)
  })

  it('counts where the counter has no bound', () => {
    const counter = charCounter()
    const messages = new MessageCounter(counter)
    expect(messages.atMost(message)).toBe(messages.count(message))
    expect(counter.asked).toHaveLength(3)
  })

  it('is found once for each message', () => {
    let asked = 0
    const messages = new MessageCounter({ count: () => 0, atMost: () => ++asked })
    expect(messages.atMost(message)).toBe(messages.atMost(message))
    expect(asked).toBe(3)
  })
})

describe('MessageCounter.tools', () => {
  const tool = (parameters: ToolSpec['parameters']): ToolSpec => ({
    name: 'f',
    description: 'Does it.',
    parameters,
  })
  const tokens = (...specs: readonly ToolSpec[]): number => new MessageCounter(charCounter()).tools(specs)
  /** What surrounds all tools, what surrounds one, and `f:Does it`. */
  const bare = 12 + 7 + 9

  it('is nothing without tools', () => {
    expect(tokens()).toBe(0)
  })

  it('counts a line for each tool, and what surrounds all of them once', () => {
    const empty = tool({ $schema: 'https://json-schema.org', type: 'object', properties: {} })
    expect(tokens(empty)).toBe(bare)
    expect(tokens(empty, empty)).toBe(bare + 7 + 9)
  })

  it('counts a line for each parameter, and each value that it may have', () => {
    const unit = { type: 'string', description: 'Unit.', enum: ['m', 'km'] }
    expect(
      tokens(tool({ type: 'object', properties: { unit, n: { type: 'number' } }, required: ['n'] })),
    ).toBe(bare + 3 + (3 + 'unit:string:Unit'.length) + (-3 + 3 + 1 + 3 + 2) + (3 + 'n:number'.length))
  })

  it('counts schemas within schemas, and other keywords as JSON', () => {
    const point = {
      type: 'object',
      properties: { x: { type: 'number', minimum: 0 } },
      additionalProperties: false,
    }
    const properties = { points: { type: 'array', items: point } }
    expect(tokens(tool({ type: 'object', properties }))).toBe(
      bare +
        3 +
        (3 + 'points:array'.length) +
        'object'.length +
        3 +
        (3 + 'x:number'.length) +
        '{"minimum":0}'.length,
    )
  })

  it('counts each tool once, known by its identity', () => {
    const counter = charCounter()
    const messages = new MessageCounter(counter)
    const first = messages.tools([weatherTool])
    const asked = counter.asked.length
    expect(messages.tools([weatherTool])).toBe(first)
    expect(counter.asked).toHaveLength(asked)
  })

  it('survives schemas that no request can carry', () => {
    const deep = JSON.parse(`${'{"items":'.repeat(2000)}{}${'}'.repeat(2000)}`)
    const specs = [tool(cyclic() as ToolSpec['parameters']), tool(null as never), tool(deep), null as never]
    for (const spec of specs) expect(tokens(spec)).toBeGreaterThanOrEqual(12 + 7)
  })
})
