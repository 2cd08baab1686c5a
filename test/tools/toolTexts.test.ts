import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { limitTexts } from '../../src/machines/index.ts'
import {
  type ToolErrorCode,
  type ToolErrorFacts,
  toolError,
  toolTexts,
} from '../../src/messages/toolTexts.ts'
import { thrownText } from '../../src/tools/plainError.ts'

const facts: { readonly [Code in ToolErrorCode]: ToolErrorFacts[Code] } = {
  unknown_tool: { name: 'subtract', available: ['add', 'multiply'] },
  invalid_json: { name: 'add', problem: 'Unexpected end', sent: '{"a":', schema: { type: 'object' } },
  invalid_arguments: { name: 'add', issues: ['a: expected number, received string'], sent: '{"a":"1"}' },
  truncated: {},
  waiting: {},
  denied: { reason: 'too dear' },
  timeout: { name: 'add', timeoutMs: 50 },
  cancelled: { name: 'add' },
  failed: { name: 'add', problem: 'RangeError: too big' },
  in_doubt: {},
  limit_reached: { max: 5 },
  repeated: { advice: limitTexts.en.warnings.sameCalls({ tool: 'add', count: 2 }) },
}

const answers = (Object.keys(toolTexts) as ToolErrorCode[]).map((code) => toolError(code, facts[code]))

describe('what the model is told of a call that did not succeed', () => {
  it('opens with its code, and says what was wrong and then what to do', () => {
    expect(answers).toHaveLength(12)
    for (const { error, content } of answers) {
      const [first = '', ...rest] = content.split('\n')
      expect(first).toMatch(new RegExp(`^Error \\(${error}\\): \\S.{20,}`))
      expect(rest.at(-1), content).toMatch(
        /^(?:Answer|Ask|Call|Change|Check|Do not|Make|Mend|Write) .*[a-z]\.$/,
      )
    }
  })

  it('is another text for each code, but for the advice on what may have had an effect', () => {
    const said = answers.map(({ content }) => content.replace(/^Error \(\w+\): /, '').split('\n')[0])
    expect(new Set(said).size).toBe(answers.length)
  })

  it('says whether the tool ran', () => {
    const contentOf = Object.fromEntries(answers.map(({ error, content }) => [error, content]))
    for (const code of [
      'invalid_json',
      'invalid_arguments',
      'truncated',
      'waiting',
      'denied',
      'limit_reached',
      'repeated',
    ]) {
      expect(contentOf[code]).toContain('not run')
    }
    for (const code of ['timeout', 'cancelled', 'in_doubt']) expect(contentOf[code]).toContain('effect')
    expect(toolError('cancelled', { name: 'add', begun: false }).content).toContain('was not run')
  })

  it('holds what it is about', () => {
    for (const [code, parts] of [
      ['unknown_tool', ['"subtract"', 'add, multiply']],
      ['invalid_json', ['add', 'Unexpected end', '{"a":', '{"type":"object"}']],
      ['invalid_arguments', ['add', '- a: expected number, received string', '{"a":"1"}']],
      ['denied', ['Reason: too dear']],
      ['timeout', ['add', '50 ms']],
      ['failed', ['add failed: RangeError: too big']],
    ] as const) {
      for (const part of parts) expect(toolTexts[code](facts[code] as never)).toContain(part)
    }
  })

  it('does without what is not known', () => {
    expect(toolError('denied', {}).content).not.toContain('Reason')
    expect(toolError('cancelled', {}).content).toContain('before this call finished')
    expect(toolError('failed', { problem: 'no' }).content).toMatch(/^Error \(failed\): no\n/)
    expect(toolError('unknown_tool', { name: 'x', available: [] }).content).toContain(
      'No tools are available',
    )
  })

  it('stays short and well-formed, however much the model or the tool said', () => {
    const long = '😀'.repeat(100_000)
    const many = Array<string>(10_000).fill(long)
    for (const { content } of [
      toolError('unknown_tool', { name: `x${long}`, available: Array<string>(10_000).fill('name') }),
      toolError('invalid_json', { name: 'add', problem: 'no', sent: long, schema: { description: long } }),
      toolError('invalid_arguments', { name: 'add', issues: many, sent: `x${long}` }),
      toolError('failed', { name: 'add', problem: long }),
    ]) {
      expect(content.length).toBeLessThan(12_000)
      expect(content).not.toContain('\ufffd')
      expect(content.isWellFormed()).toBe(true)
    }
    expect(toolError('denied', { reason: '\ud800' }).content.isWellFormed()).toBe(true)
    expect(toolError('invalid_arguments', { name: 'add', issues: many, sent: '' }).content).toContain(
      '- and 9980 more',
    )
  })
})

describe('what a tool threw', () => {
  const fail = (): never => {
    throw new Error('trap')
  }

  it.each<[unknown, string]>([
    [new RangeError('too big'), 'RangeError: too big'],
    [new Error('plain'), 'plain'],
    [new Error(''), 'Error'],
    [new TypeError(''), 'TypeError'],
    [Object.assign(new Error(''), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [new DOMException('stopped', 'AbortError'), 'AbortError: stopped'],
    [{ message: 'like an error', stack: 'at x.js' }, 'like an error'],
    ['a string', 'a string'],
    [undefined, 'undefined'],
    [null, 'null'],
    [7n, '7'],
    [Object.freeze({ code: 7 }), '{"code":7}'],
    [Object.create(null), '{}'],
    [fail, '(a function)'],
  ])('%o is told as %j', (thrown, text) => {
    expect(thrownText(thrown)).toBe(text)
  })

  it('is told as far as it can be read', () => {
    const error = Object.defineProperty(new Error('m'), 'name', { get: fail })
    expect(thrownText(error)).toBe('m')
    expect(thrownText(new Proxy(error, { get: fail, getPrototypeOf: fail }))).toMatch(/^\S/)
  })

  it('is told with its causes', () => {
    const refused = new AggregateError([new Error('refused'), new Error('other')], '')
    const error = new TypeError('fetch failed', { cause: refused })
    expect(thrownText(error)).toBe('TypeError: fetch failed; caused by AggregateError; caused by refused')
    expect(thrownText(new Error('a', { cause: 'b' }))).toBe('a; caused by b')
  })

  it('is told to an end where causes go round in circles, and never with the stack', () => {
    const error = new RangeError('round')
    error.cause = error
    expect(thrownText(error)).toBe(Array(4).fill('RangeError: round').join('; caused by '))
    expect(thrownText(error)).not.toContain('.ts')
  })

  it('is a short, well-formed text, whatever it was', () => {
    const long = new Error('😀'.repeat(100_000), { cause: new Error('x'.repeat(100_000)) })
    expect(thrownText(long).length).toBeLessThan(2200)
    const thrown = fc.oneof(
      fc.anything({ withBigInt: true, withMap: true, withNullPrototype: true }),
      fc.constantFrom(
        new Proxy({}, { get: fail, getPrototypeOf: fail }),
        Object.assign(new Error('\ud800'), { name: 7 }),
        Object.defineProperty(new Error('c'), 'cause', { get: fail }),
        { message: '\udc00', errors: [fail] },
      ),
    )
    fc.assert(
      fc.property(thrown, (value) => {
        const text = thrownText(value)
        expect(text.isWellFormed()).toBe(true)
        expect(text.length).toBeLessThan(5000)
      }),
    )
  })
})
