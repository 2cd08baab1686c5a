import { describe, expect, it } from 'vitest'
import {
  type Journal,
  type JournalEntry,
  memoryJournal,
  memorySessions,
  type SessionStore,
} from '../../src/index.ts'
import { journalChecks, sessionStoreChecks } from '../../src/testing/index.ts'

/** The names of the checks that a store does not pass. */
async function failuresOf(checks: ReturnType<typeof journalChecks>): Promise<readonly string[]> {
  const results = await Promise.allSettled(checks.map(({ run }) => run()))
  return checks.filter((_check, i) => results[i]?.status === 'rejected').map(({ name }) => name)
}

/** A store that forgets nothing and checks nothing, on which the careless ones stand. */
function careless(): Journal {
  const runs = new Map<string, JournalEntry[]>()
  return {
    ...memoryJournal(),
    append(runId, entries) {
      runs.set(runId, [...(runs.get(runId) ?? []), ...entries])
      return true
    },
    load: (runId) => runs.get(runId),
  }
}

function hesitant(): Journal {
  const store = careless()
  return {
    ...store,
    async append(runId, entries, length) {
      const { length: before } = (await store.load(runId)) ?? []
      return before === length && store.append(runId, entries, length)
    },
  }
}

const kept = memoryJournal()

const faulty: readonly (readonly [fault: string, journal: Journal, check: string])[] = [
  ['does not look at the length', careless(), 'refuses entries for another length than it has'],
  ['keeps the objects it was given', careless(), 'keeps what it was given from being changed'],
  ['reads anything', careless(), 'says which entry it cannot read, and serves the others'],
  ['lists nothing', careless(), 'tells where each run stands'],
  ['removes nothing', careless(), 'removes runs that ended before a time, and no others'],
  [
    'adds them backwards',
    { ...kept, append: (id, entries, length) => kept.append(id, entries.toReversed(), length) },
    'gives back the entries of a run in their order',
  ],
  [
    'has an empty journal for every run',
    { ...kept, load: async (id) => (await kept.load(id)) ?? [] },
    'knows nothing of a run that has not begun',
  ],
  [
    'adds them one by one',
    {
      ...kept,
      async append(id, entries, length) {
        for (const [i, entry] of entries.entries()) {
          if (!(await kept.append(id, [entry], length + i))) return false
        }
        return true
      },
    },
    'adds all entries of an append, or none',
  ],
  ['looks first and writes later', hesitant(), 'lets one win of several that append at once'],
  [
    'cuts ids',
    {
      ...kept,
      append: (id, entries, length) => kept.append(id.toLowerCase(), entries, length),
      load: (id) => kept.load(id.toLowerCase()),
    },
    'keeps runs apart, whatever their ids are',
  ],
  [
    'mends texts',
    { ...kept, append: (id, entries, length) => kept.append(id, wellFormed(entries), length) },
    'gives back texts of any characters and of a megabyte',
  ],
  [
    'writes plain JSON',
    {
      ...kept,
      append: (id, entries, length) => kept.append(id, JSON.parse(withoutBigInt(entries)), length),
    },
    'gives back values that JSON loses',
  ],
  [
    'lists all at once',
    { ...kept, list: (query) => kept.list({ ...query, limit: 1e6 }) },
    'lists the latest runs first, page by page',
  ],
  ['leases to anybody', { ...kept, lease: () => true }, 'leases a run to one at a time'],
]

function wellFormed(entries: readonly JournalEntry[]): JournalEntry[] {
  return JSON.parse(
    JSON.stringify(entries, (_key, value) => (typeof value === 'string' ? value.toWellFormed() : value)),
  )
}

function withoutBigInt(entries: readonly JournalEntry[]): string {
  return JSON.stringify(entries, (_key, value) => (typeof value === 'bigint' ? Number(value) : value))
}

describe('the checks of a journal', () => {
  it.each(faulty)('find one that %s', async (_fault, journal, check) => {
    expect(await failuresOf(journalChecks(() => journal))).toContain(check)
  })

  it('are each failed by one of these', () => {
    const names = journalChecks(memoryJournal).map(({ name }) => name)
    expect(new Set(faulty.map(([, , check]) => check))).toEqual(new Set(names))
  })

  it('tell what was promised and what was seen', async () => {
    const [check] = journalChecks(() => ({ ...memoryJournal(), append: () => false }))
    await expect(check?.run()).rejects.toMatchObject({
      code: 'journal_check_failed',
      message: 'append for the length that the journal has, 0, gives true.\nExpected: true\nSeen:     false',
    })
  })
})

const sessions = memorySessions()

const faultySessions: readonly (readonly [fault: string, store: SessionStore, check: string])[] = [
  ['loses them', { ...sessions, load: () => undefined }, 'gives back the record that was saved last'],
  [
    'does not look at the revision',
    { ...sessions, save: () => true },
    'refuses a record that does not follow the one it has',
  ],
  ['lets everybody save', { ...sessions, save: () => true }, 'lets one win of several that save at once'],
  [
    'cuts ids',
    {
      load: (id) => sessions.load(id.toLowerCase()),
      save: (id, record) => sessions.save(id.toLowerCase(), record),
    },
    'keeps sessions apart, and gives back any text',
  ],
]

describe('the checks of a session store', () => {
  it.each(faultySessions)('find one that %s', async (_fault, store, check) => {
    expect(await failuresOf(sessionStoreChecks(() => store))).toContain(check)
  })

  it('are each failed by one of these', () => {
    const names = sessionStoreChecks(memorySessions).map(({ name }) => name)
    expect(new Set(faultySessions.map(([, , check]) => check))).toEqual(new Set(names))
  })
})
