import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shinglesOf } from '../../../src/machines/limits/shingles.ts'
import { Sketch } from '../../../src/machines/limits/sketch.ts'

const words = (from: number, count: number): string =>
  Array.from({ length: count }, (_, i) => `word${from + i}`).join(' ')
const remembering = (...texts: string[]): Sketch =>
  texts.reduce((sketch, text) => sketch.with(sketch.read(text)), Sketch.empty)
const containment = (sketch: Sketch, text: string): number | undefined =>
  sketch.containmentOf(sketch.read(text))

describe('the shingles of a text', () => {
  it('are its runs of three words, whatever stands between them and however they are written', () => {
    const { words: count, sample } = shinglesOf('The cat sat, on the mat.', 0)
    expect(count).toBe(6)
    expect(sample.size).toBe(4)
    expect(shinglesOf('the CAT\n  sat (on) “the” mat', 0).sample).toEqual(sample)
    const reworded = shinglesOf('the cat sat on a mat', 0).sample
    expect([...reworded].filter((shingle) => sample.has(shingle))).toHaveLength(2)
  })

  it('are runs of three characters in Chinese and Japanese', () => {
    const { words: count, sample } = shinglesOf('今天北京天气晴。', 0)
    expect(count).toBe(7)
    expect(sample.size).toBe(5)
    expect(shinglesOf('今天，北京天气晴', 0).sample).toEqual(sample)
  })

  it('of a text with letters of any script are words', () => {
    expect(shinglesOf('Погода в Москве сегодня', 0).words).toBe(4)
    expect(shinglesOf('오늘 서울 날씨', 0).words).toBe(3)
    expect(shinglesOf('  ,.;  ', 0)).toEqual({ words: 0, sample: new Set(), naming: new Set() })
  })

  it('of a huge text are those of its beginning', () => {
    expect(shinglesOf(words(0, 100_000), 0).words).toBeLessThan(3000)
  })
})

describe('a sketch', () => {
  it('tells how much of a text it has seen', () => {
    const sketch = remembering(words(0, 100))
    expect(containment(sketch, words(0, 100))).toBe(1)
    expect(containment(sketch, words(20, 60))).toBe(1)
    expect(containment(sketch, words(1000, 100))).toBe(0)
    expect(containment(sketch, `${words(0, 50)} ${words(1000, 50)}`)).toBeCloseTo(0.5, 1)
    expect(containment(sketch, 'too short')).toBeUndefined()
  })

  it('leaves those alone that it was before', () => {
    const first = remembering(words(0, 100))
    first.with(first.read(words(1000, 100)))
    expect(containment(first, words(1000, 100))).toBe(0)
  })

  it('stays small, and goes on to tell about as well', () => {
    const texts = Array.from({ length: 60 }, (_, i) => words(i * 1000, 400))
    const sketch = remembering(...texts)
    expect(sketch.size).toBeLessThanOrEqual(2048)
    expect(sketch.size).toBeGreaterThan(500)
    expect(containment(sketch, texts.slice(10, 16).join(' '))).toBeGreaterThan(0.9)
    expect(containment(sketch, words(500_000, 2400)) ?? 0).toBeLessThan(0.1)
    const half = `${words(10_000, 400)} ${words(900_000, 400)} ${words(20_000, 400)} ${words(800_000, 400)}`
    expect(containment(sketch, half)).toBeGreaterThan(0.3)
    expect(containment(sketch, half)).toBeLessThan(0.7)
  })

  it('has always seen what it was given, whatever that is', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 400 })), (texts) => {
        const sketch = remembering(...texts)
        for (const text of texts) expect(containment(sketch, text) ?? 1).toBe(1)
      }),
    )
  })
})
