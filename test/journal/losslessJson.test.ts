import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entryText, type JournalEntry, readEntry } from '../../src/index.ts'

const where = { runId: 'r', position: 3 }

/** A value as it comes back from a journal. */
function kept(output: unknown): unknown {
  const entry: JournalEntry = { type: 'event', at: 1, event: { type: 'settled', place: 'compact.1', output } }
  const read = readEntry(entryText(entry), where)
  return read.type === 'event' && read.event.type === 'settled' ? read.event.output : undefined
}

const key = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('$date', '$$date', '$', '$map', '__proto__', 'toJSON'),
)

/** Values of the kinds that are promised to survive. */
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'binary' }),
    fc.boolean(),
    fc.constant(null),
    fc.double().map((n) => (Object.is(n, -0) ? 0 : n)),
    fc.bigInt(),
    fc.date(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
    fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 3 }).map((pairs) => new Map(pairs)),
    fc.array(tie('value'), { maxLength: 3 }).map((values) => new Set(values)),
  ),
}))

describe('an entry as text', () => {
  it('comes back with every value that an effect settled with', () => {
    fc.assert(
      fc.property(value, (given) => {
        expect(kept(given)).toEqual(given)
      }),
      { numRuns: 1000 },
    )
  })

  it('keeps what an error says, and what it carries that is no object', () => {
    const request: { self?: unknown } = {}
    request.self = request
    const cause = new TypeError('no route')
    const error = Object.assign(new Error('failed', { cause }), { code: 'E1', status: 503n, request })
    const read = kept(error) as Error & Record<string, unknown>
    expect(read).toBeInstanceOf(Error)
    expect(read).toMatchObject({ name: 'Error', message: 'failed', code: 'E1', status: 503n })
    expect(read.request).toBeUndefined()
    expect(read.cause).toMatchObject({ name: 'TypeError', message: 'no route' })
    expect(Object.keys(read)).toEqual(['code', 'status'])
  })

  it('is JSON that people can read', () => {
    const entry: JournalEntry = { type: 'intent', at: 1, place: 'tool.1.0' }
    expect(entryText(entry)).toBe('{"type":"intent","at":1,"place":"tool.1.0"}')
    expect(kept({ when: new Date(5), url: new URL('https://a.b/'), none: undefined, f: () => 1 })).toEqual({
      when: new Date(5),
      url: 'https://a.b/',
    })
  })

  it.each([
    ['', /it is cut off or no JSON/],
    ['{"type":"intent","at":1,"pla', /it is cut off or no JSON/],
    [
      '{"type":"event","at":1,"event":{"type":"settled","place":"p","output":{"$bigint":"x"}}}',
      /cut off or no JSON/,
    ],
    ['null', /it is no journal entry/],
    ['[]', /it is no journal entry/],
    ['{"type":1}', /it is no journal entry/],
    ['{"type":"toString","at":1}', /knows no entry of type "toString"\. A newer one has written it/],
    [
      '{"type":"started","version":2,"at":1,"input":{}}',
      /of version 2, and this Loopchart reads version 1\. Update/,
    ],
    ['{"type":"started","version":1,"at":1}', /a part of the "started" entry is missing/],
    ['{"type":"intent","place":"p"}', /a part of the "intent" entry is missing/],
    ['{"type":"intent","at":1}', /a part of the "intent" entry is missing/],
    ['{"type":"event","at":1}', /a part of the "event" entry is missing/],
    ['{"type":"event","at":1,"event":{"type":"settled"}}', /a part of the "event" entry is missing/],
    [
      '{"type":"event","at":1,"event":{"type":"failed","place":"p"}}',
      /a part of the "event" entry is missing/,
    ],
    ['{"type":"event","at":1,"event":{"type":"decided"}}', /a part of the "event" entry is missing/],
    ['{"type":"event","at":1,"event":{"type":"sent"}}', /a part of the "event" entry is missing/],
    ['{"type":"event","at":1,"event":{"type":"new"}}', /a part of the "event" entry is missing/],
    ['{"type":"ended","at":1,"status":"new"}', /a part of the "ended" entry is missing/],
  ])('%s says what is wrong, and where', (text, problem) => {
    let thrown: unknown
    try {
      readEntry(text, where)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ name: 'JournalError', code: 'journal_invalid', ...where })
    expect((thrown as Error).message).toMatch(/^Entry 3 of run "r" cannot be read: /)
    expect((thrown as Error).message).toMatch(problem)
  })
})
