import { randomUUID } from 'node:crypto'
import { JournalError } from '../errors.ts'
import type { Journal, JournalEntry, RunSummary } from '../journal/entry.ts'
import { type Check, Findings } from './storeCheck.ts'

const find = new Findings('journal_check_failed')

/**
 * What every store of journals promises, as checks for your own:
 *
 * ```ts
 * for (const { name, run } of journalChecks(() => myJournal())) it(name, run)
 * ```
 *
 * The store need not be empty. The checks leave a few runs in it that began in January 1970, and remove other such.
 *
 * @param open Gives the store. Called once for each check; it may give the same one each time.
 */
export function journalChecks(open: () => Journal | Promise<Journal>): readonly Check[] {
  return Object.entries(checks).map(([name, check]) => ({ name, run: async () => check(await open()) }))
}

const checks: Readonly<Record<string, (journal: Journal) => Promise<void>>> = {
  async 'gives back the entries of a run in their order'(journal) {
    const runId = randomUUID()
    const entries = [started(), ...Array.from({ length: 20 }, (_, i) => intent(`tool.1.${i}`))]
    await mustAppend(journal, runId, entries.slice(0, 1), 0)
    await mustAppend(journal, runId, entries.slice(1, 3), 1)
    for (let i = 3; i < entries.length; i++) await mustAppend(journal, runId, entries.slice(i, i + 1), i)
    find.same(await journal.load(runId), entries, 'load gives back what was appended, in that order')
  },

  async 'knows nothing of a run that has not begun'(journal) {
    const runId = randomUUID()
    find.same(await journal.load(runId), undefined, 'load gives undefined for a run that there is not')
    find.same(await journal.append(runId, [intent('tool.1.0')], 1), false, 'a run that is new has length 0')
    find.same(await journal.load(runId), undefined, 'what was refused leaves no trace')
  },

  async 'refuses entries for another length than it has'(journal) {
    const runId = randomUUID()
    const entries = [started(), intent('tool.1.0'), intent('tool.1.1')]
    await mustAppend(journal, runId, entries, 0)
    for (const length of [0, 1, 2, 4, 100]) {
      const isAdded = await journal.append(runId, [intent('tool.9.9')], length)
      find.same(isAdded, false, `append for length ${length} gives false where there are 3 entries`)
    }
    find.same(await journal.load(runId), entries, 'what was refused leaves no trace')
    await mustAppend(journal, runId, [intent('tool.2.0')], 3)
  },

  async 'adds all entries of an append, or none'(journal) {
    const runId = randomUUID()
    await mustAppend(journal, runId, [started()], 0)
    const cyclic: { self?: unknown } = {}
    cyclic.self = cyclic
    const broken = [intent('tool.1.0'), settled('tool.1.0', cyclic), intent('tool.1.1')]
    await find.rejection(
      () => journal.append(runId, broken, 1),
      'append rejects where an entry cannot be written',
    )
    find.same(await journal.load(runId), [started()], 'nothing is kept of an append that failed')
    await mustAppend(journal, runId, [intent('tool.1.0')], 1)
  },

  async 'lets one win of several that append at once'(journal) {
    const runId = randomUUID()
    let length = 0
    for (let round = 0; round < 5; round++) {
      const before = (await journal.load(runId)) ?? []
      const candidates = Array.from({ length: 8 }, (_, i) => [
        round === 0 ? started(i) : intent(`tool.${round}.${i}`),
        intent(`tool.${round}.${i}`),
      ])
      const added = await Promise.all(
        candidates.map(async (entries) => journal.append(runId, entries, length)),
      )
      find.same(
        added.filter(Boolean).length,
        1,
        'of 8 that append for the same length at once, one is told true',
      )
      const winner = candidates[added.indexOf(true)] ?? []
      find.same(
        await journal.load(runId),
        [...before, ...winner],
        'the entries of the winner are added, and no others',
      )
      length += winner.length
    }
  },

  async 'keeps runs apart, whatever their ids are'(journal) {
    const suffix = randomUUID()
    const ids = oddIds.map((id) => `${id}${suffix}`)
    for (const [i, runId] of ids.entries()) await mustAppend(journal, runId, [started(i)], 0)
    for (const [i, runId] of ids.entries()) {
      find.same(
        await journal.load(runId),
        [started(i)],
        `the run ${JSON.stringify(runId)} has its own journal`,
      )
    }
    const listed =
      (await journal.list({ before: { startedAt: 1 + ids.length, runId: '' }, limit: 10_000 })) ?? []
    const found = new Set(listed.map(({ runId }) => runId))
    find.same(
      ids.filter((id) => !found.has(id)),
      [],
      'list gives back ids as they were given',
    )
  },

  async 'gives back texts of any characters and of a megabyte'(journal) {
    const runId = randomUUID()
    const texts = [
      '\u0000\u0001\u001f',
      '\ud800 and \udfff',
      '\u2028\u2029',
      '汉字 👩‍👩‍👧 é',
      `"'\\\n\r\t$1 ?`,
      'x'.repeat(1_000_000),
    ]
    const entries = [
      started(),
      ...texts.map((text) => settled('tool.1.0', { content: text, [text.slice(0, 20)]: 1 })),
    ]
    await mustAppend(journal, runId, entries, 0)
    find.same(await journal.load(runId), entries, 'texts come back as they were')
  },

  async 'gives back values that JSON loses'(journal) {
    const runId = randomUUID()
    const output = {
      date: new Date(1_764_536_400_000),
      bigint: 12_345_678_901_234_567_890n,
      error: new RangeError('too far', { cause: { code: 7 } }),
      numbers: [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN],
      map: new Map([[{ key: 1 }, new Set([1n])]]),
      marked: { $date: 1, $$date: 2, $bigint: { $set: [] } },
    }
    await mustAppend(journal, runId, [started(), settled('compact.1', output)], 0)
    const entry = (await journal.load(runId))?.[1]
    const read = entry?.type === 'event' && entry.event.type === 'settled' ? entry.event.output : undefined
    const { error, ...rest } = (read ?? {}) as typeof output
    const { error: _error, ...expected } = output
    find.same(
      rest,
      expected,
      'Date, BigInt, Map, Set, NaN and Infinity come back, as entryText and readEntry do it',
    )
    find.same(
      error instanceof Error && [error.name, error.message, error.cause],
      ['RangeError', 'too far', { code: 7 }],
      'an Error comes back with its name, message and cause',
    )
  },

  async 'keeps what it was given from being changed'(journal) {
    const runId = randomUUID()
    const output = { list: [1] }
    const entries = [started(), settled('tool.1.0', output)]
    await mustAppend(journal, runId, entries, 0)
    output.list.push(2)
    entries.pop()
    const expected = [started(), settled('tool.1.0', { list: [1] })]
    const loaded = await journal.load(runId)
    find.same(loaded, expected, 'what is changed after it was appended changes nothing')
    ;(loaded as JournalEntry[]).length = 0
    find.same(await journal.load(runId), expected, 'what is changed after it was loaded changes nothing')
  },

  async 'tells where each run stands'(journal) {
    const runId = randomUUID()
    const at = moment()
    const summary = async () =>
      (await journal.list({ before: { startedAt: at + 1, runId: '' } })).find((run) => run.runId === runId)
    const expectSummary = async (expected: Partial<RunSummary>, what: string) =>
      find.same(await summary(), { runId, startedAt: at, ...expected }, what)

    await mustAppend(journal, runId, [started(at)], 0)
    await expectSummary(
      { status: 'running', updatedAt: at, steps: 0, length: 1 },
      'a run that began is running',
    )
    await mustAppend(
      journal,
      runId,
      [
        { ...settled('model.1.1', {}), at: at + 3 },
        { type: 'waiting', at: at + 1 },
      ],
      1,
    )
    await expectSummary(
      { status: 'waiting', updatedAt: at + 3, steps: 1, length: 3 },
      'a run whose last entry is "waiting" waits; updatedAt is the latest time, steps the last step that was settled',
    )
    await mustAppend(journal, runId, [{ type: 'resumed', at: at + 4, by: 'somebody' }], 3)
    await expectSummary(
      { status: 'running', updatedAt: at + 4, steps: 1, length: 4 },
      'a run that was taken up again is running',
    )
    await mustAppend(
      journal,
      runId,
      [{ type: 'ended', at: at + 5, status: 'aborted', reason: 'cancelled' }],
      4,
    )
    await expectSummary(
      { status: 'aborted', reason: 'cancelled', updatedAt: at + 5, steps: 1, length: 5 },
      'a run that ended says how, and why where it was aborted',
    )
  },

  async 'lists the latest runs first, page by page'(journal) {
    const prefix = randomUUID()
    const at = moment()
    const ids = ['a', 'b', 'c', 'd', 'e'].map((name) => `${prefix}${name}`)
    // The middle three begin at once.
    const starts = [0, 1, 1, 1, 2]
    for (const [i, runId] of ids.entries())
      await mustAppend(journal, runId, [started(at + (starts[i] ?? 0))], 0)
    await mustAppend(journal, ids[2] ?? '', [{ type: 'ended', at: at + 9, status: 'done' }], 1)
    const listed: string[] = []
    let before: Pick<RunSummary, 'startedAt' | 'runId'> | undefined = { startedAt: at + 3, runId: '' }
    while (before !== undefined && listed.length < ids.length) {
      const page: readonly RunSummary[] = await journal.list({ limit: 2, before })
      find.same(page.length <= 2, true, 'a page has at most `limit` runs')
      listed.push(...page.map(({ runId }) => runId).filter((id) => id.startsWith(prefix)))
      before = page.at(-1)
    }
    find.same(listed, ids.toReversed(), 'the pages follow each other, by start and then by id, latest first')
    const done = await journal.list({ status: 'done', before: { startedAt: at + 3, runId: '' } })
    find.same(
      done.map(({ runId }) => runId).filter((id) => id.startsWith(prefix)),
      ids.slice(2, 3),
      'list gives the runs of a status',
    )
  },

  async 'removes runs that ended before a time, and no others'(journal) {
    const at = moment()
    const early = randomUUID()
    const late = randomUUID()
    const open = randomUUID()
    const waiting = randomUUID()
    await mustAppend(journal, early, [started(at), { type: 'ended', at: at + 1, status: 'done' }], 0)
    await mustAppend(journal, late, [started(at), { type: 'ended', at: at + 2, status: 'aborted' }], 0)
    await mustAppend(journal, open, [started(at)], 0)
    await mustAppend(journal, waiting, [started(at), { type: 'waiting', at }], 0)
    const pruned = await journal.prune({ endedBefore: at + 2 })
    find.same(pruned >= 1, true, 'prune tells how many runs it removed')
    find.same(await journal.load(early), undefined, 'a run that ended before the time is gone')
    const kept = await Promise.all([late, open, waiting].map(async (runId) => journal.load(runId)))
    find.same(
      kept.map((entries) => entries?.length),
      [2, 1, 2],
      'runs that ended later, are running or wait stay',
    )
    await mustAppend(journal, early, [started(at)], 0)
  },

  async 'leases a run to one at a time'(journal) {
    const runId = randomUUID()
    const hour = 3_600_000
    find.same(
      await journal.lease(runId, 'a', hour),
      true,
      'a lease that nobody holds can be taken, on any run',
    )
    find.same(await journal.lease(runId, 'b', hour), false, 'a lease that another holds cannot be taken')
    find.same(await journal.lease(runId, 'a', hour), true, "one's own lease can be renewed")
    await journal.release(runId, 'b')
    find.same(await journal.lease(runId, 'b', hour), false, "nobody can release another's lease")
    find.same(
      await journal.lease(runId, 'b', hour, true),
      true,
      'a lease that another holds can be taken over',
    )
    find.same(await journal.lease(runId, 'a', hour), false, 'a lease that was taken over is no longer held')
    await journal.release(runId, 'b')
    find.same(await journal.lease(runId, 'b', 1), true, 'a lease that was released can be taken')
    const takenOver = await soon(async () => journal.lease(runId, 'a', hour))
    find.same(takenOver, true, 'a lease that has expired can be taken by another')
    const others = await Promise.all(['b', 'c', 'd'].map(async (owner) => journal.lease(runId, owner, hour)))
    find.same(others, [false, false, false], 'a lease that was taken over is held')
  },

  async 'says which entry it cannot read, and serves the others'(journal) {
    const broken = randomUUID()
    const sound = randomUUID()
    const future = { type: 'of a later version', at: 1 } as unknown as JournalEntry
    await mustAppend(journal, broken, [started(), future, intent('tool.1.0')], 0)
    await mustAppend(journal, sound, [started()], 0)
    const thrown = await find.rejection(
      () => journal.load(broken),
      'load rejects where an entry is of a kind that this version does not know',
    )
    find.same(
      thrown instanceof JournalError && [thrown.code, thrown.runId, thrown.position],
      ['journal_invalid', broken, 1],
      'load throws the JournalError of readEntry, with the run and the position',
    )
    find.same(await journal.load(sound), [started()], 'other runs can be read')
    find.same((await journal.list({ limit: 10_000 })).length >= 2, true, 'the runs can be listed')
  },
}

const oddIds = [
  'a',
  'A',
  ' a',
  'a ',
  'a/b',
  'a\\b',
  '../a',
  "a'b",
  'a"b',
  'a`b',
  'a;--',
  'a%',
  'a_',
  'a?',
  'a:b',
  'a\nb',
  'a\u0000b',
  '\ud800',
  '\ud801',
  'é',
  'e\u0301',
  '👩‍👧',
  '__proto__',
  'constructor',
  'null',
  '0',
  '00',
  'x'.repeat(500),
]

async function mustAppend(
  journal: Journal,
  runId: string,
  entries: readonly JournalEntry[],
  length: number,
): Promise<void> {
  const isAdded = await journal.append(runId, entries, length)
  find.same(isAdded, true, `append for the length that the journal has, ${length}, gives true`)
}

function started(at = 1): JournalEntry {
  return { type: 'started', version: 1, at, input: { messages: 'hello' } }
}

function intent(place: string): JournalEntry {
  return { type: 'intent', at: 1, place }
}

function settled(place: string, output: unknown): JournalEntry {
  return { type: 'event', at: 1, event: { type: 'settled', place, output } }
}

const DAYS_MS = 1_000_000_000

/** A time in January 1970, with some milliseconds around it that no other check uses. */
function moment(): number {
  return 1000 + 100 * Math.floor(Math.random() * (DAYS_MS / 100))
}

const PATIENCE_MS = 5000

/** Whether something becomes true before long. */
async function soon(isTrue: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + PATIENCE_MS
  while (performance.now() < deadline) {
    if (await isTrue()) return true
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return false
}
