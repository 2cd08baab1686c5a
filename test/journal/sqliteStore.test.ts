import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { createAgent, defineTool, type JournalEntry } from '../../src/index.ts'
import { openDatabase } from '../../src/sqlite/database.ts'
import { type SqliteStore, sqliteStore } from '../../src/sqlite/index.ts'
import { sqliteJournal } from '../../src/sqlite/sqliteJournal.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { expectAborted, expectDone, expectSendable } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'
import { storeBehaves } from './storeBehaves.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'loopchart-sqlite-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function opened(path: string): SqliteStore {
  const store = sqliteStore({ path })
  onTestFinished(() => store.close())
  return store
}

/** Does something to a file behind the back of the store. */
function meddle(path: string, sql: string): void {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

const started: JournalEntry = { type: 'started', version: 1, at: 1, input: { messages: 'go' } }
const intent: JournalEntry = { type: 'intent', at: 2, place: 'tool.1.0' }
const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }

describe.each(['file', ':memory:'])('in SQLite, %s', (kind) => {
  let store: SqliteStore

  beforeAll(() => {
    store = sqliteStore({ path: kind === 'file' ? join(folder, 'a folder/that is new/runs.db') : kind })
  })
  afterAll(() => store.close())
  storeBehaves(() => store)
})

describe('a SQLite file', () => {
  it('keeps runs and conversations for the next process', async () => {
    const path = join(folder, 'next.db')
    const first = opened(path)
    const agent = createAgent({ model: scriptedModel(['Hello.']), ...storeOf(first) })
    expectDone(await agent.session('s').run('hi', { runId: 'r' }))
    first.close()
    const second = opened(path)
    const later = createAgent({ model: scriptedModel(['Hello again.']), ...storeOf(second) })
    expect(expectDone(await later.resume('r')).output).toBe('Hello.')
    expectDone(await later.session('s').run('again'))
    expect(await later.session('s').messages()).toHaveLength(4)
  })

  it('is shared by processes: one wins each entry, and none is lost', { timeout: 60_000 }, async () => {
    const path = join(folder, 'shared.db')
    const contestant = fileURLToPath(new URL('contestant.ts', import.meta.url))
    const length = 120
    const names = ['a', 'b', 'c']
    const processes = names.map((name) =>
      promisify(execFile)(process.execPath, ['--no-warnings', contestant, path, name, String(length)]),
    )
    const wins = (await Promise.all(processes)).map(({ stdout }) => Number(stdout))
    const entries = (await opened(path).journal.load('r')) ?? []
    const placesOf = (name: string) =>
      entries.filter((entry) => entry.type === 'intent' && entry.place === name)
    expect(entries).toHaveLength(length)
    expect(names.map((name) => placesOf(name).length)).toEqual(wins)
  })

  it('whose entry was cut off says which, and serves the other runs', async () => {
    const path = join(folder, 'cut.db')
    const { journal } = opened(path)
    await journal.append('r', [started, intent, intent], 0)
    await journal.append('other', [started], 0)
    meddle(
      path,
      "UPDATE loopchart_entries SET entry = substr(entry, 1, 20) WHERE run_id = 'r' AND position = 1",
    )
    const agent = createAgent({ model: scriptedModel(['ok']), journal })
    await expect(agent.resume('r')).rejects.toMatchObject({
      name: 'JournalError',
      code: 'journal_invalid',
      runId: 'r',
      position: 1,
      message: expect.stringMatching(/^Entry 1 of run "r" cannot be read: it is cut off or no JSON/),
    })
    expectDone(await agent.resume('other'))
    expect((await journal.list()).map(({ runId }) => runId)).toEqual(['r', 'other'])
    meddle(path, "DELETE FROM loopchart_entries WHERE run_id = 'r' AND position = 1")
    expect(() => journal.load('r')).toThrow('Entry 1 of run "r" is missing; there should be 3.')
  })

  it('of a newer version is refused, and so is what is none', () => {
    const path = join(folder, 'newer.db')
    sqliteStore({ path }).close()
    meddle(path, 'PRAGMA user_version = 99')
    expect(() => sqliteStore({ path })).toThrow(
      /is of version 99, and this Loopchart knows version \d+\. Update/,
    )
    const text = join(folder, 'text.db')
    writeFileSync(text, 'This is no database, but long enough to be looked at as one.'.repeat(20))
    expect(() => sqliteStore({ path: text })).toThrow(/cannot be used: file is not a database/)
    expect(() => sqliteStore({ path: '' })).toThrow(/needs a path/)
  })
})

describe('where SQLite cannot write', () => {
  it('on a disk that is full, the run says so, and goes on from what is recorded once there is room', async () => {
    const database = openDatabase(join(folder, 'full.db'))
    onTestFinished(() => database.close())
    const journal = sqliteJournal(database)
    let runs = 0
    const fill = defineTool({
      name: 'fill',
      description: 'Gives much to keep.',
      input: z.object({ n: z.number() }),
      run: () => {
        runs++
        return 'x'.repeat(3000)
      },
    })
    const script = Array.from(
      { length: 6 },
      (_, n): ScriptedStep => ({ calls: [{ name: 'fill', arguments: { n } }] }),
    )
    const { page_count: pages } = database.prepare('PRAGMA page_count').get() as { page_count: number }
    database.exec(`PRAGMA max_page_count = ${pages + 3}`)
    const agent = createAgent({ model: scriptedModel([...script, 'full']), tools: [fill], journal })
    const outcome = expectAborted(await agent.run('go', { runId: 'r' }))
    expect(outcome).toMatchObject({
      reason: 'journal_error',
      message: 'The journal failed: database or disk is full',
      error: { code: 'ERR_SQLITE_ERROR' },
    })
    expectSendable(outcome)
    const recorded = (await journal.load('r')) ?? []
    const intents = recorded.filter(({ type }) => type === 'intent').length
    expect(runs, 'nothing ran whose intent is not recorded').toBe(intents)
    expect((await journal.list())[0]).toMatchObject({ status: 'running', length: recorded.length })

    database.exec('PRAGMA max_page_count = 4294967294')
    const left = scriptedModel(['There is room again.'])
    const later = createAgent({ model: left, tools: [fill], journal })
    expect(expectDone(await later.resume('r')).output).toBe('There is room again.')
    expect((await journal.load('r'))?.slice(0, recorded.length)).toEqual(recorded)
  })

  it.skipIf(process.platform === 'win32')('in a file that is read-only, the run says so', async () => {
    const path = join(folder, 'readonly/runs.db')
    const first = sqliteStore({ path })
    await first.journal.append('r', [started], 0)
    first.close()
    chmodSync(path, 0o444)
    chmodSync(join(folder, 'readonly'), 0o777)
    await asNobody(async () => {
      const store = sqliteStore({ path })
      expect(await store.journal.load('r')).toEqual([started])
      const add = countingAdd()
      const agent = createAgent({ model: scriptedModel([adding]), tools: [add], journal: store.journal })
      const outcome = expectAborted(await agent.run('go'))
      expect(outcome).toMatchObject({
        reason: 'journal_error',
        message: 'The journal failed: attempt to write a readonly database',
      })
      expect(add.runs).toEqual([])
      store.close()
    })
  })

  it.skipIf(process.platform === 'win32')(
    'in a folder that is read-only, it says so when it is opened',
    async () => {
      const closed = join(folder, 'closed')
      sqliteStore({ path: join(closed, 'runs.db') }).close()
      chmodSync(closed, 0o555)
      await asNobody(async () => {
        for (const name of ['runs.db', 'new.db', 'new/new.db']) {
          const thrown = expect.objectContaining({ code: 'store_unavailable' })
          expect(() => sqliteStore({ path: join(closed, name) }), name).toThrow(thrown)
        }
      })
      chmodSync(closed, 0o755)
    },
  )

  it('after it was closed, the run says so', async () => {
    const store = sqliteStore({ path: ':memory:' })
    store.close()
    const agent = createAgent({ model: scriptedModel(['ok']), journal: store.journal })
    expect(expectAborted(await agent.run('go'))).toMatchObject({ reason: 'journal_error' })
  })
})

function storeOf({ journal, sessions }: SqliteStore) {
  return { journal, sessions }
}

const NOBODY = 65_534

/** Does something as a user who is bound by permissions: root is not, and becomes nobody meanwhile. */
async function asNobody(act: () => Promise<void>): Promise<void> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) {
    chmodSync(folder, 0o755)
    process.seteuid?.(NOBODY)
  }
  try {
    await act()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}
