import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { visibleRows } from '../../../src/inspect/page/parts/visible.ts'
import { roundScale, spanOf } from '../../../src/inspect/page/run/span.ts'
import { backOffMs } from '../../../src/inspect/page/wire/backOff.ts'
import { fits, neighbourOf, RunList } from '../../../src/inspect/page/wire/runList.ts'
import { SseReader } from '../../../src/inspect/page/wire/sse.ts'
import type { RunRow } from '../../../src/inspect/protocol.ts'

describe('server-sent events', () => {
  const stream =
    ': hello\r\nid: 1\r\ndata: {"a":1}\r\n\r\ndata: two\ndata: lines\n\nretry: 5\nid: 中\rdata:x\r\revent: y\n\n: still here\n\n'
  const expected = [
    { id: '1', data: '{"a":1}' },
    { id: '1', data: 'two\nlines' },
    { id: '中', data: 'x' },
  ]

  it('are read the same wherever the stream is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length), { maxLength: 12 }), (cuts) => {
        const reader = new SseReader()
        const ends = [...cuts.toSorted((a, b) => a - b), stream.length]
        const read = ends.flatMap((end, i) => reader.read(stream.slice(ends[i - 1] ?? 0, end)))
        expect(read).toEqual(expected)
      }),
    )
  })

  it('go on from where an earlier stream ended', () => {
    expect(new SseReader('7').read('data: x\n\n')).toEqual([{ id: '7', data: 'x' }])
  })
})

describe('the wait before another attempt to connect', () => {
  it('grows to ten seconds, and at most half of it is left to chance', () => {
    expect([1, 2, 3, 4, 10, 2000].map((failures) => backOffMs(failures, 0))).toEqual([
      300, 600, 1200, 2400, 10_000, 10_000,
    ])
    expect(backOffMs(3, 1)).toBe(600)
  })
})

const row = (runId: string, startedAt: number, more: Partial<RunRow> = {}): RunRow => ({
  runId,
  status: 'running',
  isLive: false,
  startedAt,
  updatedAt: startedAt,
  steps: 0,
  ...more,
})

describe('the list of runs', () => {
  it('has the latest start first, by id backwards where they started at once', () => {
    const list = new RunList({ search: '' })
    list.add([row('a', 1), row('c', 2), row('b', 2)])
    list.update(row('d', 9))
    expect(list.rows.map(({ runId }) => runId)).toEqual(['d', 'c', 'b', 'a'])
  })

  it('takes in what fits its filter, and drops what does not any more', () => {
    const list = new RunList({ search: 'lisbon', status: 'running' })
    list.update(row('a', 1, { question: 'A flight to Lisbon' }))
    list.update(row('b', 1, { question: 'The weather' }))
    list.update(row('c', 1, { question: 'Lisbon', status: 'done' }))
    expect(list.rows.map(({ runId }) => runId)).toEqual(['a'])
    list.update(row('a', 1, { question: 'A flight to Lisbon', status: 'done' }))
    expect(list.rows).toEqual([])
  })

  it('keeps what the server has found to fit for a reason that the row does not show', () => {
    const list = new RunList({ search: 'hidden' })
    list.add([row('a', 1)])
    list.update(row('a', 1, { steps: 4 }))
    expect(list.rows).toMatchObject([{ runId: 'a', steps: 4 }])
  })

  it('is searched for every word, whatever its case', () => {
    const found = row('r-77', 1, { question: 'Which FLIGHT to Lisbon?', reason: 'timeout' })
    const search = (text: string) => fits(found, { search: text })
    expect(['', 'flight lisbon', 'R-77', 'timeout', '  which '].map(search)).toEqual(Array(5).fill(true))
    expect(search('flight porto')).toBe(false)
  })

  it('has neighbours up to its ends', () => {
    const rows = [row('c', 3), row('b', 2), row('a', 1)]
    const to = (runId: string | undefined, distance: number) => neighbourOf(rows, runId, distance)?.runId
    expect([to('b', 1), to('b', -1), to('a', 1), to('c', -1), to(undefined, 1)]).toEqual([
      'a',
      'c',
      'a',
      'c',
      'c',
    ])
    expect(neighbourOf([], 'x', 1)).toBeUndefined()
  })
})

describe('the rows that are there', () => {
  it('cover what is in sight, and are few however long the list is', () => {
    const sizes = fc.record({ top: fc.nat(3_000_000), height: fc.nat(2000), count: fc.nat(100_000) })
    fc.assert(
      fc.property(sizes, ({ top, height, count }) => {
        const { first, end } = visibleRows(top, height, 28, count)
        expect(first).toBeGreaterThanOrEqual(0)
        expect(end).toBeLessThanOrEqual(count)
        expect(end - first).toBeLessThanOrEqual(Math.ceil(height / 28) + 18)
        if (top < count * 28) expect(first * 28).toBeLessThanOrEqual(top)
        expect(end * 28).toBeGreaterThanOrEqual(Math.min(top + height, count * 28))
      }),
    )
  })
})

describe('the bars of the waterfall', () => {
  it('have a scale that is round and holds everything', () => {
    expect([0, 10, 11, 20, 21, 150, 501, 1001].map(roundScale)).toEqual([10, 10, 20, 20, 50, 200, 1000, 2000])
  })

  it('stay within it', () => {
    expect(spanOf(25, 75, 80, 100)).toEqual({ start: 0.25, size: 0.5 })
    expect(spanOf(50, undefined, 80, 100).size).toBeCloseTo(0.3)
    expect(spanOf(150, 160, 0, 100)).toEqual({ start: 1, size: 0 })
  })
})
