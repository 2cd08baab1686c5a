import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fingerprint, paired } from '../../../src/machines/limits/fingerprint.ts'

describe('a fingerprint', () => {
  it('is a whole number that JSON keeps, the same for the same text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const print = fingerprint(text)
        expect(Number.isSafeInteger(print) && print >= 0).toBe(true)
        expect(fingerprint(`${text}`)).toBe(print)
      }),
    )
  })

  it('differs among many texts that hardly differ', () => {
    const texts = Array.from({ length: 50_000 }, (_, i) => `{"page":${i}}`)
    const more = texts.map((text) => `${text} `)
    const prints = [...texts, ...more, ...texts.map((text) => [...text].reverse().join(''))].map(fingerprint)
    expect(new Set(prints).size).toBe(150_000)
  })

  it('of two depends on both, and on their order', () => {
    const prints = Array.from({ length: 300 }, (_, i) => fingerprint(`${i}`))
    const pairs = prints.flatMap((a) => prints.map((b) => paired(a, b)))
    expect(new Set(pairs).size).toBe(90_000)
    for (const pair of pairs.slice(0, 100)) expect(Number.isSafeInteger(pair) && pair >= 0).toBe(true)
  })
})
