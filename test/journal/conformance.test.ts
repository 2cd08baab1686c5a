import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { type Journal, memoryJournal, memorySessions, type SessionStore } from '../../src/index.ts'
import { type PostgresStore, postgresStore } from '../../src/postgres/index.ts'
import { type SqliteStore, sqliteStore } from '../../src/sqlite/index.ts'
import { journalChecks, sessionStoreChecks } from '../../src/testing/index.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'

function storeBehaves(open: () => { readonly journal: Journal; readonly sessions: SessionStore }): void {
  for (const { name, run } of journalChecks(() => open().journal)) it(`a journal ${name}`, run)
  for (const { name, run } of sessionStoreChecks(() => open().sessions)) it(`a session store ${name}`, run)
}

describe('in memory', () => {
  const store = { journal: memoryJournal(), sessions: memorySessions() }
  storeBehaves(() => store)
})

describe('in SQLite', () => {
  let folder: string
  let store: SqliteStore

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'loopchart-sqlite-'))
    store = sqliteStore({ path: join(folder, 'runs.db') })
  })
  afterAll(() => {
    store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  storeBehaves(() => store)
})

describe('in SQLite, in memory', () => {
  let store: SqliteStore

  beforeAll(() => {
    store = sqliteStore({ path: ':memory:' })
  })
  afterAll(() => store.close())
  storeBehaves(() => store)
})

describe('in Postgres', () => {
  let server: PostgresServer
  let store: PostgresStore

  beforeAll(async () => {
    server = await startPostgres()
    store = postgresStore(server)
  }, 60_000)
  afterAll(async () => {
    await store?.close()
    await server?.stop()
  })
  storeBehaves(() => store)
})
