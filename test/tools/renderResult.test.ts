import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NOTHING_RETURNED, renderResult } from '../../src/tools/renderResult.ts'

/** What `renderResult` may make of a value at most, with every character escaped and a note on every level. */
const LONGEST = 6_100_000

const fail = (): never => {
  throw new Error('no')
}

const withGetter = (object: object, name: PropertyKey, get: () => never = fail): object =>
  Object.defineProperty(object, name, { get, enumerable: true })

const nested = (levels: number): unknown => {
  let value: unknown = 'inside'
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? { in: value } : [value]
  return value
}

/** Each level twice, as one object: as a tree it would have 2^60 leaves. */
const lattice = (): unknown => {
  let value: unknown = 1
  for (let i = 0; i < 60; i++) value = [value, value]
  return value
}

describe('results that are shown as they are', () => {
  it.each([
    ['', ''],
    ['text', 'text'],
    ['"quoted"\n', '"quoted"\n'],
    [null, 'null'],
    [false, 'false'],
    [0, '0'],
    [-0, '0'],
    [undefined, NOTHING_RETURNED],
    [[], '[]'],
    [{}, '{}'],
  ])('%j', (value, text) => {
    expect(renderResult(value)).toBe(text)
  })

  it('are any JSON: it is written as JSON.stringify writes it', () => {
    const isNoText = (value: unknown): boolean => typeof value !== 'string'
    fc.assert(
      fc.property(fc.jsonValue().filter(isNoText), (value) => {
        expect(renderResult(value)).toBe(JSON.stringify(value))
      }),
    )
  })

  it('are instances and objects without a prototype: their fields count, as in JSON', () => {
    class City {
      name = 'Ulm'
      missing = undefined
      #hidden = 1
      visit = (): number => this.#hidden
      get size(): number {
        return 7
      }
    }
    expect(renderResult(new City())).toBe('{"name":"Ulm"}')
    expect(renderResult(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}')
    expect(renderResult(JSON.parse('{"__proto__":{"a":1},"toJSON":1}'))).toBe(
      '{"__proto__":{"a":1},"toJSON":1}',
    )
  })
})

describe('results that JSON does not know', () => {
  it.each<[string, unknown, string]>([
    ['a big integer', 12345678901234567890n, '12345678901234567890'],
    ['a big integer in an object', { n: 1n }, '{"n":"1"}'],
    ['an enormous integer', [10n ** 2000n], '["(a whole number of more than 1000 digits)"]'],
    ['no number', [Number.NaN, Number.NEGATIVE_INFINITY], '["NaN","-Infinity"]'],
    ['a symbol', { s: Symbol('x') }, '{"s":"Symbol(x)"}'],
    ['a function', function visit() {}, '(a function)'],
    ['functions in a list', [() => 1], '["(a function)"]'],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a date in an object', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ['an invalid date', { at: new Date(Number.NaN) }, '{"at":"(an invalid date)"}'],
    ['a map with texts as keys', new Map([['a', new Map([['b', 1]])]]), '{"a":{"b":1}}'],
    [
      'a map with other keys',
      new Map<unknown, unknown>([
        [1, 'a'],
        ['1', 'b'],
      ]),
      '[[1,"a"],["1","b"]]',
    ],
    ['a set', new Set([1, new Set(['a'])]), '[1,["a"]]'],
    ['boxed primitives', [Object(1), Object('s'), Object(false), Object(1n)], '[1,"s",false,"1"]'],
    ['a sparse list', Array.from({ length: 3, 1: 'a' }), '[null,"a",null]'],
    ['holes', Object.assign(new Array(2), { 1: 'a' }), '[null,"a"]'],
    ['a regular expression', { r: /a"b/gi }, '{"r":"/a\\"b/gi"}'],
    ['a URL', new URL('http://example.com/?a=1'), 'http://example.com/?a=1'],
    ['search parameters', new URLSearchParams({ a: '1' }), 'a=1'],
    ['headers', new Headers({ accept: 'x' }), '{"accept":"x"}'],
    ['a promise', { later: Promise.resolve(1) }, '{"later":"(a promise that was not awaited)"}'],
    ['a weak map', new WeakMap(), '(WeakMap)'],
    ['a generator', (function* () {})(), '(Generator)'],
  ])('%s', (_what, value, text) => {
    expect(renderResult(value)).toBe(text)
  })

  it.each<[string, unknown, string]>([
    ['a buffer', Buffer.from('secret'), '(binary data, 6 bytes)'],
    ['bytes', new Uint8Array(3), '(binary data, 3 bytes)'],
    ['an array buffer', { file: new ArrayBuffer(1234) }, '{"file":"(binary data, 1234 bytes)"}'],
    ['a data view', new DataView(new ArrayBuffer(8), 4), '(binary data, 4 bytes)'],
    ['a blob', new Blob(['abc'], { type: 'image/png' }), '(binary data, 3 bytes, image/png)'],
    ['numbers', new Float32Array([0.5, 2]), '[0.5,2]'],
    ['big numbers', new BigInt64Array([1n]), '["1"]'],
  ])('binary data: %s', (_what, value, text) => {
    expect(renderResult(value)).toBe(text)
  })

  it('a response of fetch: the tool is told what to return', () => {
    expect(renderResult(Response.json({}, { status: 404 }))).toMatch(/^\{"status":404,.*response\.json\(\)/)
  })
})

describe('errors that are returned', () => {
  it('show name, message, causes and their own fields, and no stack', () => {
    const cause = new RangeError('too big')
    const error = Object.assign(new TypeError('bad', { cause }), { code: 'E_BAD' })
    Object.defineProperty(error, 'stack', { value: 'at secret.js', enumerable: true })
    expect(JSON.parse(renderResult({ error }))).toEqual({
      error: {
        name: 'TypeError',
        message: 'bad',
        cause: { name: 'RangeError', message: 'too big' },
        code: 'E_BAD',
      },
    })
    expect(renderResult(error)).not.toContain('secret.js')
  })

  it('show what they are made of, also where toJSON would show the stack', () => {
    const error = Object.assign(new AggregateError([new Error('one')], 'all'), {
      toJSON: () => ({ stack: 'x' }),
    })
    expect(renderResult(error)).toBe(
      '{"name":"AggregateError","message":"all","errors":[{"name":"Error","message":"one"}]}',
    )
  })

  it('may be their own cause', () => {
    const error = new Error('round')
    error.cause = error
    expect(renderResult(error)).toBe('{"name":"Error","message":"round","cause":"(cycle)"}')
  })
})

describe('results that go round in circles', () => {
  it('are cut where they close', () => {
    const object: Record<string, unknown> = { name: 'a' }
    object.self = object
    object.list = [object]
    const map = new Map<string, unknown>()
    map.set('set', new Set([map]))
    expect(renderResult(object)).toBe('{"name":"a","self":"(cycle)","list":["(cycle)"]}')
    expect(renderResult(map)).toBe('{"set":["(cycle)"]}')
  })

  it('are told from results that hold one object twice', () => {
    const shared = { a: 1 }
    expect(renderResult([shared, shared, new Map([['x', shared]])])).toBe('[{"a":1},{"a":1},{"x":{"a":1}}]')
  })
})

describe('hostile results', () => {
  const traps = { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail, getOwnPropertyDescriptor: fail }
  const revoked = Proxy.revocable([], {})
  revoked.revoke()

  it.each<[string, () => unknown, string]>([
    ['a getter that throws', () => withGetter({ a: 1 }, 'b'), '{"a":1,"b":"…"}'],
    ['an item that throws', () => withGetter([1, 2], 0), '["…",2]'],
    ['a toJSON that throws', () => ({ a: 1, b: { secret: 1, toJSON: fail } }), '{"a":1,"b":"…"}'],
    ['a toJSON that cannot be read', () => ({ a: 1, b: withGetter({}, 'toJSON') }), '{"a":1,"b":"…"}'],
    ['a proxy whose traps throw', () => [1, new Proxy({}, traps)], '[1,"…"]'],
    ['a proxy that was revoked', () => [1, revoked.proxy], '[1,"…"]'],
    ['a proxy of a map', () => [1, new Proxy(new Map([[1, 1]]), {})], '[1,"…"]'],
    ['an unreadable set', () => [1, Object.assign(new Set(), { [Symbol.iterator]: fail })], '[1,"…"]'],
    ['an error without a name', () => withGetter(new Error('m'), 'name'), '{"name":"…","message":"m"}'],
  ])('with %s are shown but for that', (_what, make, text) => {
    expect(renderResult(make()).replaceAll(/\(cannot be shown: [^)]*\)/g, '…')).toBe(text)
  })

  it('are shown all the same where they throw something odd', () => {
    for (const thrown of [undefined, null, Object.create(null), new Proxy({}, traps), 'x'.repeat(1e6)]) {
      const value = withGetter({}, 'a', () => {
        throw thrown
      })
      expect(renderResult(value)).toMatch(/^\{"a":"\(cannot be shown.{0,210}"\}$/)
    }
  })

  it('say why they cannot be shown, and nothing that a toJSON was to hide', () => {
    expect(renderResult({ secret: 1, toJSON: fail })).toBe('(cannot be shown: no)')
  })

  it('are what their toJSON gives, also where that is the object itself', () => {
    const toItself = {
      a: 1,
      toJSON() {
        return this
      },
    }
    expect(renderResult(toItself)).toBe(JSON.stringify(toItself))
    expect(renderResult({ a: { toJSON: () => undefined }, b: { toJSON: () => 2 } })).toBe('{"b":2}')
  })

  it('come to an end where their toJSON always gives something new', () => {
    class Endless {
      toJSON(): unknown {
        return { next: new Endless() }
      }
    }
    expect(renderResult(new Endless())).toContain('(more than 100 levels deep)')
  })

  it('are not what they claim to be', () => {
    const claims = [
      'Map',
      'Set',
      'Date',
      'Error',
      'Response',
      'Blob',
      'Promise',
      'constructor',
      '__proto__',
      7,
    ]
    for (const claim of claims) {
      expect(renderResult([{ [Symbol.toStringTag]: claim, a: 1 }])).toMatch(/^\[.*\]$/)
    }
  })

  it('lose lone surrogates, in texts, keys and values', () => {
    expect(renderResult('a\ud800')).toBe('a\ufffd')
    expect(renderResult({ 'k\udc00': ['\ud83d'], m: new Map([['\ud800', Symbol('\ud800')]]) })).toBe(
      '{"k\ufffd":["\ufffd"],"m":{"\ufffd":"Symbol(\ufffd)"}}',
    )
    expect(renderResult(new Error('\ud800'))).toContain('"message":"\ufffd"')
  })
})

describe('results without measure', () => {
  it('are shown to a depth of 100 levels', () => {
    expect(renderResult(nested(100))).toContain('"inside"')
    expect(renderResult(nested(10_000))).toContain('"(more than 100 levels deep)"')
  })

  it.each<[string, () => unknown]>([
    ['a million items', () => Array.from({ length: 1_000_000 }, (_, i) => i)],
    ['a set of a million', () => new Set(Array.from({ length: 1_000_000 }, (_, i) => i))],
    ['a map of a million', () => new Map(Array.from({ length: 1_000_000 }, (_, i) => [`k${i}`, i]))],
    ['a million fields', () => Object.fromEntries(Array.from({ length: 1_000_000 }, (_, i) => [`k${i}`, i]))],
    ['four billion holes', () => new Array(4_000_000_000)],
    ['a million functions', () => Array.from({ length: 1_000_000 }, () => fail)],
    ['fifty million characters', () => ({ text: 'x'.repeat(50_000_000) })],
    ['a long key', () => ({ ['k'.repeat(50_000_000)]: 1 })],
    [
      'endless items',
      () => ({
        *[Symbol.iterator]() {
          for (;;) yield 1
        },
        [Symbol.toStringTag]: 'Set',
        size: 9e9,
      }),
    ],
    ['the same lists again and again', lattice],
  ])('of %s stop early and say how much is missing', (_what, make) => {
    const text = renderResult(make())
    expect(text.length).toBeLessThan(1_300_000)
    expect(text).toMatch(/\(\d+ more (?:characters )?left out\)/)
    expect(() => JSON.parse(text)).not.toThrow()
  })

  it('are not read further than they are shown', () => {
    let reads = 0
    const counting = new Proxy(Array(5_000_000).fill(0), {
      get: (target, key) => {
        if (typeof key === 'string' && /^\d+$/.test(key)) reads++
        return Reflect.get(target, key)
      },
    })
    renderResult(counting)
    expect(reads).toBeLessThan(1_000_000)
  })

  it('keep characters whole where a long text is cut', () => {
    const text = renderResult({ text: '👩‍👩‍👧'.repeat(200_000) })
    expect(text).toMatch(/^\{"text":"(?:👩‍👩‍👧)+… \(\d+ more characters left out\)"\}$/)
  })

  it('stay as they are where they are texts: capText is for them', () => {
    const text = 'x'.repeat(2_000_000)
    expect(renderResult(text)).toBe(text)
  })
})

describe('any result', () => {
  const units = fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 5 })
    .map((codes) => String.fromCharCode(...codes))
  /** Made where they are looked at: fast-check itself cannot print them. */
  const makers = {
    getter: () => withGetter({}, 'x'),
    toJSON: () => ({ toJSON: fail }),
    proxy: () => new Proxy({}, { ownKeys: fail, get: fail }),
    promise: () => Promise.resolve(1),
    error: () => new Error('\udfff', { cause: Object.freeze({}) }),
    global: () => globalThis,
    map: () => new Map<unknown, unknown>([[withGetter({}, 'x'), fail]]),
    deep: () => nested(300),
  }
  const hostile = fc.constantFrom(...(Object.keys(makers) as (keyof typeof makers)[]))
  const anything = fc.anything({
    key: units,
    values: [units, fc.integer(), fc.double(), fc.boolean(), fc.constantFrom(null, undefined)],
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
  })

  it('becomes a well-formed text of bounded length', () => {
    fc.assert(
      fc.property(anything, fc.option(hostile), (value, kind) => {
        const text = renderResult(
          kind === null ? value : new Map<unknown, unknown>([[makers[kind](), value]]),
        )
        expect(text.isWellFormed()).toBe(true)
        expect(text.length).toBeLessThan(LONGEST)
      }),
      { numRuns: 2000 },
    )
  })

  it('becomes JSON where it is an object or a list in the end', () => {
    fc.assert(
      fc.property(anything, hostile, (value, kind) => {
        const text = renderResult({ value, hostile: makers[kind](), last: 1 })
        expect(JSON.parse(text)).toMatchObject({ last: 1 })
      }),
      { numRuns: 1000 },
    )
  })
})
