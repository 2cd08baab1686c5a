import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exampleTools } from '../../src/offline/index.ts'
import { replyTo, type StandInReply } from '../../src/offline/standIn.ts'

const tools = exampleTools.map(({ name, description, parameters }) => ({
  type: 'function',
  function: { name, description, parameters },
}))

const user = (content: unknown): object => ({ role: 'user', content })
const asks = (reply: StandInReply): unknown[] =>
  reply.toolCalls.map((call) => [call.function.name, JSON.parse(call.function.arguments)])
const assistant = (reply: StandInReply): object => ({
  role: 'assistant',
  content: null,
  tool_calls: reply.toolCalls,
})
const result = (id: string | undefined, content: unknown): object => ({
  role: 'tool',
  tool_call_id: id,
  content: typeof content === 'string' ? content : JSON.stringify(content),
})

/** What is said once every call of the first reply has the given results. */
function answer(question: string, results: readonly unknown[], more: object = { tools }): StandInReply {
  const first = replyTo({ messages: [user(question)], tools })
  const answers = first.toolCalls.map((call, index) => result(call.id, results[index]))
  return replyTo({ messages: [user(question), assistant(first), ...answers], ...more })
}

const weather = (city: string): unknown => ['get_weather', { city }]
const sum = (expression: string): unknown => ['calculate', { expression }]
const time = (zone: string): unknown => ['get_time', { zone }]
const conversion = (value: number, from: string, to: string): unknown => [
  'convert_units',
  { value, from, to },
]
const paris = {
  city: 'Paris',
  temperature_c: 18,
  condition: 'cloudy',
  humidity_percent: 65,
  note: 'sample data, not a forecast',
}

describe('the stand-in asks for', () => {
  it.each([
    ["what's the weather in Paris?", [weather('Paris')]],
    [
      'weather in paris, London and New York please',
      [weather('paris'), weather('London'), weather('New York')],
    ],
    ['北京天气怎么样', [weather('北京')]],
    ['北京、上海和深圳的天气', [weather('北京'), weather('上海'), weather('深圳')]],
    ['Weather in Atlantis?', [weather('Atlantis')]],
    ['顺便看看火星今天的天气', [weather('火星')]],
    ['weather in Paris for sailing', [weather('Paris')]],
    ['what is 15*8+32', [sum('15*8+32')]],
    ['顺便算一下 15*8+32', [sum('15*8+32')]],
    ['calculate 2^10', [sum('2^10')]],
    ['How much is 24 times 7?', [sum('24*7')]],
    ['（１＋２）×３ 等于多少', [sum('(1+2)*3')]],
    ['15加8乘以2是多少', [sum('15+8*2')]],
    ['what time is it in Tokyo', [time('Tokyo')]],
    ['What time is it in Asia/Kolkata?', [time('Asia/Kolkata')]],
    ['东京现在几点', [time('东京')]],
    ['convert 5 km to miles', [conversion(5, 'km', 'miles')]],
    ['how many miles are in 5 km?', [conversion(5, 'km', 'miles')]],
    ['Convert 3 parsecs to km', [conversion(3, 'parsecs', 'km')]],
    ['5公里是多少英里', [conversion(5, '公里', '英里')]],
    ['100华氏度是多少摄氏度', [conversion(100, '华氏度', '摄氏度')]],
    ['convert the temperature 100 F to C', [conversion(100, 'F', 'C')]],
    ['北京天气怎么样？顺便算一下 15*8+32', [weather('北京'), sum('15*8+32')]],
    ['先算 15*8+32，再看北京天气', [sum('15*8+32'), weather('北京')]],
    ["What's the weather in Paris and what time is it there?", [weather('Paris'), time('Paris')]],
    ['weather and time in Paris', [weather('Paris'), time('Paris')]],
    ['Paris weather and Tokyo time now', [weather('Paris'), time('Tokyo')]],
    ['北京的天气，东京现在的时间', [weather('北京'), time('东京')]],
    ['东京现在几点，天气怎么样？', [time('东京'), weather('东京')]],
    [
      '帮我看看纽约时间，再把 3 公斤换算成磅，最后算 (1+2)*3',
      [time('纽约'), conversion(3, '公斤', '磅'), sum('(1+2)*3')],
    ],
  ])('%s', (question, expected) => {
    const reply = replyTo({ messages: [user(question)], tools })
    expect(asks(reply)).toEqual(expected)
    expect(reply.text).toBe('')
  })

  it('one thing once, however often the question names it', () => {
    const question = 'Weather in Beijing and Beijing and 北京? Also 1+1 and 1+1.'
    expect(asks(replyTo({ messages: [user(question)], tools }))).toEqual([weather('Beijing'), sum('1+1')])
  })

  it('nothing where numbers are no arithmetic', () => {
    const question = 'I need 5 minutes, on 2024-05-01 at 10:30-11:30, for gpt-4-5.'
    expect(replyTo({ messages: [user(question)], tools }).toolCalls).toEqual([])
  })
})

describe('the stand-in answers', () => {
  it('in English from the results', () => {
    const reply = answer(
      'Weather in Paris? And 15*8+32, and convert 5 km to miles, and what time is it in Tokyo?',
      [
        paris,
        { expression: '15*8+32', result: 152 },
        { value: 5, from: 'km', to: 'mi', result: 3.1 },
        { zone: 'Asia/Tokyo', date: '2026-03-02', time: '04:05:06' },
      ],
    )
    expect(reply).toEqual({
      text:
        'Paris: cloudy, 18 °C, humidity 65% (sample data, not a forecast). 15*8+32 = 152. 5 km = 3.1 miles. ' +
        'The time in Tokyo is 04:05:06 on 2026-03-02.',
      toolCalls: [],
    })
  })

  it('in Chinese from the results', () => {
    const reply = answer('巴黎天气怎么样？算一下 15*8+32。5公里是多少英里？东京现在几点？', [
      paris,
      { expression: '15*8+32', result: 152 },
      { value: 5, from: 'km', to: 'mi', result: 3.1 },
      { zone: 'Asia/Tokyo', date: '2026-03-02', time: '04:05:06' },
    ])
    expect(reply).toEqual({
      text:
        '巴黎：多云，18 °C，湿度 65%（示例数据，并非预报）。15*8+32 = 152。5 公里 = 3.1 英里。' +
        '东京现在是 2026-03-02 04:05:06。',
      toolCalls: [],
    })
  })

  it('from results of another form', () => {
    expect(answer('weather in Paris, 1+1', ['mild and 18', '2']).text).toBe(
      'The weather in Paris: mild and 18. 1+1 = 2.',
    )
    expect(answer('巴黎天气', ['晴']).text).toBe('巴黎的天气：晴。')
  })

  it('with the error for the part that failed', () => {
    const failed = 'Error (failed): get_weather failed: no sample weather for "Atlantis"'
    expect(answer('Weather in Atlantis? And 1+1?', [failed, { result: 2 }]).text).toBe(
      'I could not find out the weather in Atlantis: get_weather failed: no sample weather for "Atlantis". 1+1 = 2.',
    )
    expect(answer('火星天气怎么样', ['Error (denied): not allowed']).text).toBe(
      '没能得到火星的天气，工具报错：not allowed。',
    )
  })

  it('what it is where it understands nothing, in the language of the question', () => {
    expect(replyTo({ messages: [user('Tell me a joke')], tools }).text).toMatch(
      /stand-in.*weather, arithmetic, time and unit conversion/,
    )
    expect(replyTo({ messages: [user('讲个笑话')], tools }).text).toMatch(
      /替身模型.*天气、算术、时间和单位换算/,
    )
  })

  it('without asking for a city where words for weather and time mean something else', () => {
    expect(answer('convert the temperature 0 C to F', [{ result: 32 }]).text).toBe('0 C = 32 F.')
    expect(answer('趁有时间，算一下 1+1', [{ result: 2 }]).text).toBe('1+1 = 2。')
  })

  it('with a question where the city is missing', () => {
    expect(replyTo({ messages: [user("What's the weather?")], tools }).text).toBe(
      'The weather in which city?',
    )
    const morning = replyTo({ messages: [user('How is the weather in the morning? In the Morning?')], tools })
    expect(morning.text).toBe('The weather in which city?')
    expect(replyTo({ messages: [user('现在几点')], tools }).text).toBe('您想知道哪座城市的时间？')
  })
})

describe('tools', () => {
  it('are asked for only if the request offers them', () => {
    const offered = tools.filter((tool) => tool.function.name === 'calculate')
    const question = user('北京天气怎么样？顺便算一下 15*8+32')
    const first = replyTo({ messages: [question], tools: offered })
    expect(asks(first)).toEqual([sum('15*8+32')])
    const id = first.toolCalls[0]?.id
    const messages = [question, assistant(first), result(id, { result: 152 })]
    expect(replyTo({ messages, tools: offered }).text).toBe(
      '15*8+32 = 152。没能得到北京的天气：没有工具 get_weather 的结果。',
    )
  })

  it('are not asked for when switched off, and what is missing is said', () => {
    const messages = [user('weather in Paris')]
    const missing = 'I could not find out the weather in Paris: there is no result from the tool get_weather.'
    for (const request of [{ messages }, { messages, tools: [] }, { messages, tools, tool_choice: 'none' }]) {
      expect(replyTo(request)).toEqual({ text: missing, toolCalls: [] })
    }
  })

  it('are limited to the one that tool_choice forces', () => {
    const tool_choice = { type: 'function', function: { name: 'calculate' } }
    const messages = [user('weather in Paris, 1+1')]
    expect(asks(replyTo({ messages, tools, tool_choice }))).toEqual([sum('1+1')])
  })

  it('are asked for one at a time when parallel calls are off', () => {
    const request = { tools, parallel_tool_calls: false }
    const messages: object[] = [user('weather in Paris, 1+1')]
    const seen: unknown[] = []
    for (let reply = replyTo({ ...request, messages }); ; reply = replyTo({ ...request, messages })) {
      if (reply.toolCalls.length === 0) break
      seen.push(asks(reply))
      messages.push(assistant(reply), result(reply.toolCalls[0]?.id, 'Error: no'))
    }
    expect(seen).toEqual([[weather('Paris')], [sum('1+1')]])
  })

  it('are not asked again for what failed or got no result', () => {
    expect(answer('weather in Paris', ['Error (timeout): too slow']).toolCalls).toEqual([])
    const first = replyTo({ messages: [user('weather in Paris')], tools })
    expect(replyTo({ messages: [user('weather in Paris'), assistant(first)], tools })).toMatchObject({
      text: expect.stringContaining('no result'),
      toolCalls: [],
    })
  })
})

describe('a conversation', () => {
  it('is answered from its newest question, and earlier results do not count', () => {
    const question = user('weather in Paris')
    const first = replyTo({ messages: [question], tools })
    const history = [
      question,
      assistant(first),
      result(first.toolCalls[0]?.id, paris),
      { role: 'assistant', content: 'Cloudy.' },
    ]
    const again = replyTo({ messages: [...history, question], tools })
    expect(asks(again)).toEqual([weather('Paris')])
    expect(again.toolCalls[0]?.id).not.toBe(first.toolCalls[0]?.id)
    expect(asks(replyTo({ messages: [...history, user('1+1')], tools }))).toEqual([sum('1+1')])
  })

  it('keeps ids unique where its history was shortened', () => {
    const question = user('weather in Paris, 1+1')
    const first = replyTo({ messages: [question], tools })
    // One message again, and it holds the ids that its length would give.
    const ids = replyTo({ messages: [{ ...question, tool_calls: first.toolCalls }], tools }).toolCalls
    expect(new Set([...ids, ...first.toolCalls].map((call) => call.id)).size).toBe(4)
  })

  it("takes a user message after tool results for the loop's note when tools are off", () => {
    const question = '北京天气怎么样'
    const first = replyTo({ messages: [user(question)], tools })
    const messages = [
      user(question),
      assistant(first),
      result(first.toolCalls[0]?.id, { temperature_c: 26, condition: 'sunny' }),
      user('Answer now with what you have, without calling 2+2 tools.'),
    ]
    for (const off of [{}, { tools, tool_choice: 'none' }]) {
      expect(replyTo({ messages, ...off }).text).toBe('北京：晴，26 °C。')
    }
    expect(asks(replyTo({ messages, tools }))).toEqual([sum('2+2')])
  })

  it('gets the same reply for the same request', () => {
    const request = { messages: [user('weather in Paris, London; 1+1')], tools }
    expect(replyTo(request)).toEqual(replyTo(structuredClone(request)))
  })
})

describe('any JSON', () => {
  it('is read where a question comes in parts', () => {
    const content = [
      { type: 'text', text: 'weather in ' },
      { type: 'image_url' },
      { type: 'text', text: 'Paris' },
    ]
    expect(asks(replyTo({ messages: [user(content)], tools }))).toEqual([weather('Paris')])
  })

  it('gets a reply', () => {
    const bodies = [
      null,
      5,
      'x',
      [],
      {},
      { messages: 5 },
      { messages: [null, 5, {}] },
      { messages: [user(null)] },
    ]
    for (const body of bodies) expect(replyTo(body).text).toMatch(/stand-in/)
  })

  it('never throws, whatever its messages hold', () => {
    const role = fc.constantFrom('user', 'assistant', 'tool', 'system', 'other')
    const call = fc.record(
      { id: fc.jsonValue(), function: fc.oneof(fc.jsonValue(), fc.record({ name: fc.jsonValue() })) },
      { requiredKeys: [] },
    )
    const message = fc.record(
      {
        role,
        content: fc.oneof(fc.jsonValue(), fc.constant('weather in Paris, 1+1, 现在几点, 5 km to mi')),
        tool_calls: fc.oneof(fc.jsonValue(), fc.array(call)),
        tool_call_id: fc.jsonValue(),
      },
      { requiredKeys: ['role'] },
    )
    const request = fc.record(
      {
        messages: fc.array(message),
        tools: fc.oneof(fc.jsonValue(), fc.constant(tools)),
        tool_choice: fc.jsonValue(),
      },
      { requiredKeys: ['messages'] },
    )
    fc.assert(
      fc.property(request, (body) => {
        const reply = replyTo(body)
        expect(reply.text === '').toBe(reply.toolCalls.length > 0)
      }),
    )
  })

  it('is read in reasonable time where it is hostile', () => {
    const started = performance.now()
    for (const piece of [
      '(',
      '(1+',
      'in A ',
      '天气',
      'weather Paris ',
      '1 ',
      '1,111',
      'how many m is ',
      'convert a',
    ]) {
      replyTo({ messages: [user(piece.repeat(200_000))], tools })
    }
    expect(performance.now() - started).toBeLessThan(5000)
  })
})
