import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { age, count, duration, money, offset } from '../../../src/inspect/page/words/format.ts'
import { indented, printable, printableLine } from '../../../src/inspect/page/words/printable.ts'
import { hashOf, routeOf } from '../../../src/inspect/page/words/route.ts'
import { languageOf, languages } from '../../../src/inspect/page/words/texts.ts'

describe('durations, counts and money', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1000, '1.0 s'],
    [59_990, '59.9 s'],
    [60_000, '1 min 00 s'],
    [3_600_000 + 7 * 60_000, '1 h 07 min'],
    [Number.NaN, '–'],
    [-1, '–'],
  ])('%d milliseconds are %s', (ms, text) => {
    expect(duration(ms)).toBe(text)
  })

  it.each([
    [7, '7'],
    [999, '999'],
    [1000, '1.0k'],
    [12_340, '12.3k'],
    [128_000, '128k'],
    [999_960, '999k'],
    [3_100_000, '3.1M'],
  ])('%d tokens are %s', (tokens, text) => {
    expect(count(tokens)).toBe(text)
  })

  it('says how long ago something was in its largest unit', () => {
    const units = { seconds: 's', minutes: 'min', hours: 'h', days: 'd' }
    const ages = [-5, 59_999, 60_000, 3_600_000, 86_400_000].map((ms) => age(ms, units))
    expect(ages).toEqual(['0 s', '59 s', '1 min', '1 h', '1 d'])
  })

  it('rounds money to what matters of it', () => {
    expect([0, 0.0123456, 12.3456, 1234.5].map(money)).toEqual(['0', '0.0123', '12.3', '1230'])
  })

  it('counts from the beginning of the run', () => {
    expect([offset(0), offset(1234), offset(61_000)]).toEqual(['+0.00 s', '+1.23 s', '+1 min 01 s'])
  })
})

describe('data that is shown', () => {
  it('shows what would turn the writing round or hide something', () => {
    expect(printable('pay \u202e001\u202c\u0000\u2066x')).toBe('pay \\u202e001\\u202c\\u0000\\u2066x')
    expect(printable('a\tb\nc')).toBe('a\tb\nc')
    expect(printable('\ud800')).toBe('\ufffd')
  })

  it('is cut to one line', () => {
    expect(printableLine('  a\n\n b  ')).toBe('a b')
    expect(printableLine('x'.repeat(500), 10)).toBe(`${'x'.repeat(10)}…`)
    expect(printableLine('x'.repeat(10), 10)).toBe('x'.repeat(10))
  })

  it('is indented where it is JSON, and left alone where it is not', () => {
    expect(indented('{"a":1}')).toBe('{\n  "a": 1\n}')
    expect(indented('{"a":')).toBe('{"a":')
  })
})

describe('the address of a run', () => {
  it('leads back to it, whatever its id is', () => {
    const at = fc.option(fc.nat(), { nil: undefined })
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), at, (text, index) => {
        const runId = text.toWellFormed()
        const route = { runId, ...(index === undefined ? {} : { at: index }) }
        expect(routeOf(hashOf(route))).toEqual(route)
      }),
    )
  })

  it.each(['', '#', '#/', '#/run/', '#/run/a/b', '#/run/%E0%A4', '#/other/x'])('"%s" is the list', (hash) => {
    expect(routeOf(hash)).toEqual({})
  })
})

describe('the languages', () => {
  it('have a text for everything, none of them empty', () => {
    const paths = (value: unknown, path = ''): readonly string[] => {
      if (typeof value === 'string') return value === '' ? [] : [path]
      if (typeof value === 'function') return [`${path}()`]
      return Object.entries(value as object).flatMap(([key, part]) => paths(part, `${path}.${key}`))
    }
    expect(paths(languages.zh)).toEqual(paths(languages.en))
  })

  it.each([
    [['zh-TW', 'en'], 'zh'],
    [['fr', 'zh-CN'], 'zh'],
    [['en-GB', 'zh'], 'en'],
    [['fr'], 'en'],
    [[], 'en'],
  ] as const)('for people who read %j is %s', (preferences, language) => {
    expect(languageOf(preferences)).toBe(language)
  })
})
