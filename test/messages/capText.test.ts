import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { capText } from '../../src/messages/capText.ts'
import { estimateTokens } from '../../src/messages/estimateTokens.ts'

const NOTE = /\n… \((\d+) of (\d+) characters left out; ask for less, or for a part\) …\n/

/** Head and tail of a text that was cut, with what the note says. */
function partsOf(capped: string): { head: string; tail: string; leftOut: number; total: number } {
  const found = NOTE.exec(capped)
  if (found === null) throw new Error(`no note in ${JSON.stringify(capped)}`)
  const [note, leftOut, total] = found
  const head = capped.slice(0, found.index)
  return {
    head,
    tail: capped.slice(head.length + note.length),
    leftOut: Number(leftOut),
    total: Number(total),
  }
}

/** Texts of UTF-16 units that need not be well-formed, with what is easily cut in half. */
const texts = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 40 }),
      fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
      fc.constantFrom('\r\n', '😀', '👩‍👩‍👧', '🇫🇷🇩🇪', 'é', '你好', '\ud800', '\udc00', 'x'.repeat(200)),
    ),
    { maxLength: 60 },
  )
  .map((pieces) => pieces.join(''))

const caps = fc.integer({ min: 0, max: 200 })
const counters = fc.constantFrom<(text: string) => number>(
  estimateTokens,
  (text) => text.length,
  (text) => Math.ceil(Buffer.byteLength(text) / 4),
)

describe('a text that is capped', () => {
  it('stays as it is where it fits, whatever it is', () => {
    for (const text of ['', 'x'.repeat(400), '你'.repeat(100)]) expect(capText(text, 100)).toBe(text)
    expect(capText('x'.repeat(1_000_000), Number.POSITIVE_INFINITY)).toHaveLength(1_000_000)
  })

  it('keeps head and tail, and says how much is left out of how much', () => {
    const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}`).join('\n')
    const { head, tail, leftOut, total } = partsOf(capText(lines, 200))
    expect(lines.startsWith(head)).toBe(true)
    expect(lines.endsWith(tail)).toBe(true)
    expect(total).toBe(lines.length)
    expect(leftOut).toBe(lines.length - head.length - tail.length)
    expect(head.length).toBeGreaterThan(tail.length)
    expect(tail.length).toBeGreaterThan(200)
  })

  it('uses nearly all that it may', () => {
    for (const text of [
      'x'.repeat(100_000),
      '你好'.repeat(50_000),
      `${'x'.repeat(50_000)}${'你'.repeat(50_000)}`,
    ]) {
      const tokens = estimateTokens(capText(text, 1000))
      expect(tokens).toBeLessThanOrEqual(1000)
      expect(tokens).toBeGreaterThan(960)
    }
  })

  it.each([
    ['surrogate pairs', '😀'],
    ['line ends', '\r\n'],
    ['families', '👩‍👩‍👧'],
    ['letters with accents', 'e\u0301\u0323'],
    ['syllables', '각'.normalize('NFD')],
    ['flags', '🇫🇷🇩🇪, '],
  ])('keeps %s whole', (_what, whole) => {
    const text = whole.repeat(200)
    const places = new Set([...new Intl.Segmenter().segment(text)].map(({ index }) => index)).add(text.length)
    for (let maxTokens = 80; maxTokens < 110; maxTokens++) {
      const { head, tail } = partsOf(capText(text, maxTokens, ({ length }) => length))
      expect(places).toContain(head.length)
      expect(places).toContain(text.length - tail.length)
      expect(head.length + tail.length).toBeGreaterThan(maxTokens - 100)
    }
  })

  it('keeps surrogate pairs whole where one character never ends', () => {
    const text = `a${'\u{1e94a}'.repeat(5000)}`
    expect(capText(text, 300).isWellFormed()).toBe(true)
    expect(partsOf(capText(text, 300)).head).toMatch(/^a\u{1e94a}*$/u)
  })

  it('has an ellipsis where there is no room for a note, and nothing where there is room for nothing', () => {
    expect(capText('x'.repeat(100), 3)).toBe('xxxxxx…xx')
    expect(capText('x'.repeat(100), 1)).toBe('…')
    for (const nothing of [0, -1, Number.NaN]) expect(capText('x'.repeat(100), nothing)).toBe('')
  })

  it('is counted by another counter where one is given', () => {
    const words = (text: string): number => text.split(/\s+/).filter(Boolean).length
    const capped = capText('word '.repeat(1000), 50, words)
    expect(words(capped)).toBeLessThanOrEqual(50)
    expect(words(capped)).toBeGreaterThan(45)
    expect(capText('word '.repeat(50), 50, words)).toBe('word '.repeat(50))
  })

  it('is counted a bounded number of times, mostly where it is short already', () => {
    let counted = 0
    const text = 'x'.repeat(1_000_000)
    capText(text, 1000, (piece) => {
      counted += piece.length
      return estimateTokens(piece)
    })
    expect(counted).toBeLessThan(3 * text.length)
  })

  it('fits, is well-formed, no longer than before, and stays when capped again, whatever it is', () => {
    fc.assert(
      fc.property(texts, caps, counters, (text, maxTokens, countTokens) => {
        const capped = capText(text, maxTokens, countTokens)
        expect(countTokens(capped)).toBeLessThanOrEqual(maxTokens)
        expect(capped.isWellFormed()).toBe(true)
        expect(capped.length).toBeLessThanOrEqual(text.length)
        expect(capText(capped, maxTokens, countTokens)).toBe(capped)
        if (countTokens(text.toWellFormed()) <= maxTokens) expect(capped).toBe(text.toWellFormed())
      }),
      { numRuns: 2000 },
    )
  })
})

describe('the estimate of tokens', () => {
  it.each([
    ['', 0],
    ['abcd', 1],
    ['abcde', 2],
    ['你好', 2],
    ['naïve', 2],
    ['😀', 2],
  ])('of %j is %d', (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens)
  })
})
