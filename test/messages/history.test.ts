import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findViolations, type Message, RESULT_NOT_RECORDED, repairHistory } from '../../src/index.ts'

const call = (id: string, args = '{}') =>
  ({ id, type: 'function', function: { name: 'f', arguments: args } }) as const

describe('a stored history', () => {
  it('that is sound comes back as it was', () => {
    const history: Message[] = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
      { role: 'tool', tool_call_id: 'a', content: '' },
      { role: 'tool', tool_call_id: 'b', content: 'x' },
      { role: 'assistant', content: 'done', reasoning_content: 'kept' },
    ]
    expect(repairHistory(history)).toEqual({ instructions: [], messages: history, notes: [] })
  })

  it('gives its system messages apart', () => {
    const { instructions, messages } = repairHistory([
      { role: 'system', content: 'one' },
      { role: 'user', content: 'hi' },
      { role: 'developer', content: 'two' },
    ])
    expect(instructions).toEqual(['one', 'two'])
    expect(messages).toEqual([{ role: 'user', content: 'hi' }])
  })

  it('with a call that was never answered gets an answer', () => {
    const { messages, notes } = repairHistory([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
      { role: 'tool', tool_call_id: 'b', content: 'x' },
      { role: 'user', content: 'and now?' },
    ])
    expect(messages.slice(2, 4)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: RESULT_NOT_RECORDED },
      { role: 'tool', tool_call_id: 'b', content: 'x' },
    ])
    expect(notes).toEqual(['call a had no result'])
  })

  it('with a result that answers nothing loses it, with a note', () => {
    const { messages, notes } = repairHistory([
      { role: 'tool', tool_call_id: 'x', content: 'lost' },
      { role: 'user', content: 'hi' },
    ])
    expect(messages).toEqual([{ role: 'user', content: 'hi' }])
    expect(notes).toEqual(['the result for "x" answers no call and was left out'])
  })

  it('that repeats an id is read by position', () => {
    const { messages } = repairHistory([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [call('a')] },
      { role: 'tool', tool_call_id: 'a', content: 'first' },
      { role: 'assistant', content: null, tool_calls: [call('a'), call('a'), call('')] },
      { role: 'tool', tool_call_id: 'a', content: 'second' },
      { role: 'tool', tool_call_id: 'a', content: 'third' },
      { role: 'tool', tool_call_id: '', content: 'fourth' },
    ])
    expect(findViolations(messages)).toEqual([])
    expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      'first',
      'second',
      'third',
      'fourth',
    ])
  })

  it('with messages that are none loses them, with a note', () => {
    const odd = [
      null,
      7,
      { role: 'function', name: 'f', content: 'x' },
      { role: 'user', content: null },
    ] as never[]
    const { messages, notes } = repairHistory([...odd, { role: 'user', content: 'hi' }])
    expect(messages).toEqual([{ role: 'user', content: 'hi' }])
    expect(notes).toHaveLength(4)
  })

  it('may have a system message of parts', () => {
    const parts = [
      { type: 'text', text: 'Be ' },
      { type: 'text', text: 'brief.' },
    ] as never
    expect(repairHistory([{ role: 'system', content: parts }]).instructions).toEqual(['Be brief.'])
  })

  it('with arguments that are no JSON text gets such as are', () => {
    const asObject = { ...call('b'), function: { name: 'f', arguments: { a: 1 } as unknown as string } }
    const { messages } = repairHistory([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [call('a', '{"a":'), asObject] },
    ])
    expect(messages[1]).toMatchObject({
      tool_calls: [{ function: { arguments: '{}' } }, { function: { arguments: '{"a":1}' } }],
    })
  })
})

/** Any message, sound or not: ids from a small set so that they clash, text with lone surrogates. */
const text = fc.oneof(fc.string(), fc.constantFrom('', 'ok', '\ud83d', 'a\udc00b', '😀'))
const id = fc.constantFrom('', 'a', 'b', 'c')
const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constantFrom('system' as const, 'developer' as const), content: text }),
  fc.record({ role: fc.constant('user' as const), content: text }),
  fc.record({ role: fc.constant('tool' as const), tool_call_id: id, content: text }),
  fc.record({ role: fc.constant('assistant' as const), content: fc.option(text) }),
  fc.record({
    role: fc.constant('assistant' as const),
    content: fc.option(text),
    tool_calls: fc.array(
      fc
        .tuple(id, fc.constantFrom('{}', '', '{"a":', '[1]', '"x"'), fc.constantFrom('f', '', 'a b'))
        .map(([callId, args, name]) => ({ ...call(callId, args), function: { name, arguments: args } })),
      { maxLength: 4 },
    ),
  }),
)

it('any history, however broken, is sendable once repaired, and repairing it again changes nothing', () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 12 }), (history) => {
      const { messages, instructions } = repairHistory(history)
      const system: Message[] = instructions.slice(0, 1).map((content) => ({ role: 'system', content }))
      expect(findViolations([...system, ...messages, { role: 'user', content: 'go on' }])).toEqual([])
      expect(repairHistory(messages)).toEqual({ instructions: [], messages, notes: [] })
    }),
    { numRuns: 2000 },
  )
})

describe('findViolations', () => {
  const user: Message = { role: 'user', content: 'hi' }
  const cases: [string, Message[], string[]][] = [
    ['nothing to answer', [{ role: 'system', content: 'x' }], ['no_user_message']],
    ['a late system message', [user, { role: 'system', content: 'x' }], ['system_first']],
    [
      'an open call',
      [user, { role: 'assistant', content: null, tool_calls: [call('a')] }],
      ['call_unanswered'],
    ],
    [
      'an orphaned result',
      [user, { role: 'tool', tool_call_id: 'a', content: 'x' }],
      ['result_without_call'],
    ],
    [
      'results out of order',
      [
        user,
        { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
        { role: 'tool', tool_call_id: 'b', content: 'x' },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ],
      ['result_out_of_order'],
    ],
    [
      'an id that is used twice',
      [
        user,
        { role: 'assistant', content: null, tool_calls: [call('a'), call('a')] },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ],
      ['id_repeated'],
    ],
    [
      'an empty id',
      [
        user,
        { role: 'assistant', content: null, tool_calls: [call('')] },
        { role: 'tool', tool_call_id: '', content: 'x' },
      ],
      ['id_empty'],
    ],
    [
      'arguments that are no JSON',
      [
        user,
        { role: 'assistant', content: null, tool_calls: [call('a', '{')] },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ],
      ['arguments_not_json'],
    ],
    [
      'a tool name that providers refuse',
      [
        user,
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ ...call('a'), function: { name: 'get weather', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'x' },
      ],
      ['name_invalid'],
    ],
    ['an empty message', [user, { role: 'assistant', content: '' }], ['empty_message']],
    ['a lone surrogate', [{ role: 'user', content: '\ud83d' }], ['ill_formed_unicode']],
  ]
  it.each(cases)('finds %s', (_what, messages, rules) => {
    expect(findViolations(messages).map(({ rule }) => rule)).toEqual(rules)
  })
})
