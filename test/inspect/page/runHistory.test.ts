import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { RunHistory } from '../../../src/inspect/page/run/runHistory.ts'
import { emptyView } from '../../../src/inspect/page/run/runView.ts'
import { selectedRow } from '../../../src/inspect/page/run/timeline.ts'
import type { InspectedEvent } from '../../../src/inspect/protocol.ts'
import { folded, recorded } from './recorded.ts'

/** Long enough for several checkpoints. */
let events: readonly InspectedEvent[] = []

beforeAll(async () => {
  const step = (i: number) => ({
    text: 'Once more, and then again, word by word.',
    calls: [{ name: 'echo', arguments: { say: `${i}` } }],
  })
  const script = [...Array.from({ length: 40 }, (_, i) => step(i)), 'Enough.']
  const result = await recorded(script, { limits: { steps: 50, stagnation: Infinity } })
  events = result.events
  expect(events.length).toBeGreaterThan(700)
})

function historyOf(known: readonly InspectedEvent[]): RunHistory {
  const history = new RunHistory()
  history.append(known)
  return history
}

describe('the history of a run', () => {
  it('gives at any moment, in any order, what a fold over the events up to it gives', () => {
    const history = historyOf(events)
    const moments = fc.array(fc.nat(events.length - 1), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(moments, (indexes) => {
        for (const index of indexes) expect(history.viewAt(index)).toEqual(folded(events.slice(0, index + 1)))
      }),
      { numRuns: 30 },
    )
  })

  it('comes to the same however its events arrive: in pieces, twice, or overlapping', () => {
    const cuts = fc.array(fc.tuple(fc.nat(events.length), fc.nat(40)), { maxLength: 10 })
    fc.assert(
      fc.property(cuts, (pieces) => {
        const history = new RunHistory()
        for (const [from, size] of pieces) {
          const start = Math.min(from, history.next)
          expect(history.append(events.slice(start, start + size))).toBe(true)
        }
        history.append(events.slice(history.next))
        expect(history.newest).toEqual(folded(events))
        expect(history.rows).toEqual(historyOf(events).rows)
      }),
      { numRuns: 20 },
    )
  })

  it('says where events are missing, and leaves out what comes behind the gap', () => {
    const history = historyOf(events.slice(0, 10))
    expect(history.append(events.slice(12, 14))).toBe(false)
    expect(history.next).toBe(10)
  })

  it('may begin later, where older events were not kept', () => {
    const history = historyOf(events.slice(300))
    expect(history.first).toBe(300)
    expect(history.viewAt(300)).toEqual(folded(events.slice(300, 301)))
    expect(history.viewAt(5)).toEqual(emptyView)
  })

  it('goes from event to event past what only fills a line', () => {
    const history = historyOf(events)
    const stops: number[] = []
    for (let at = history.first; at < history.next - 1; ) {
      const next = history.stopFrom(at, 1)
      expect(next).toBeGreaterThan(at)
      at = next
      stops.push(at)
    }
    const types = new Set(stops.map((index) => history.at(index)?.event.type))
    expect(types).toContain('transition')
    expect(types).not.toContain('model.delta')
    expect(stops.at(-1)).toBe(events.length - 1)
    expect(history.stopFrom(stops[3] ?? 0, -1)).toBe(stops[2])
  })

  it('names the newest entry of the journal that is told of', () => {
    const history = historyOf(
      events.slice(0, 6).map((event) => ({ ...event, ...(event.index === 2 ? { position: 7 } : {}) })),
    )
    expect(history.positionAt(1)).toBeUndefined()
    expect(history.positionAt(5)).toBe(7)
  })
})

describe('the row that is chosen', () => {
  it('is the call that ended at that moment, or what happened then', () => {
    const history = historyOf(events)
    const calls = new Map(history.newest.calls.map((call) => [call.index, call]))
    const tool = history.newest.calls.find(({ kind }) => kind === 'tool')
    const chosen = history.rows[selectedRow(history.rows, calls, tool?.endIndex)]
    expect(chosen?.index).toBe(tool?.index)
    for (const [position, row] of history.rows.entries())
      expect(selectedRow(history.rows, calls, row.index)).toBe(position)
    expect(selectedRow(history.rows, calls, undefined)).toBe(-1)
  })
})
