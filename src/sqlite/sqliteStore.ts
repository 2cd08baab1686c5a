import { MisuseError } from '../errors.ts'
import type { Journal } from '../journal/entry.ts'
import type { SessionStore } from '../sessions/sessionStore.ts'
import { openDatabase } from './database.ts'
import { sqliteJournal } from './sqliteJournal.ts'
import { sqliteSessions } from './sqliteSessions.ts'

export interface SqliteStoreOptions {
  /** The file; it and its folder are made where they do not exist. `:memory:` keeps all in this process. */
  readonly path: string
}

/** Journals and conversations in one SQLite file. */
export interface SqliteStore {
  readonly journal: Journal
  readonly sessions: SessionStore
  /** Closes the file, where it is open. What is done with the store later fails. */
  close(): void
}

/**
 * Opens a SQLite file that keeps journals and conversations, through `node:sqlite`. Several processes of one machine may
 * use it at once. What it has kept outlives a crash of the process and a power failure: each `append` waits for the disk.
 *
 * @throws LoopchartError `store_unavailable` where the file cannot be used, `store_too_new` where a newer Loopchart made it.
 */
export function sqliteStore({ path }: SqliteStoreOptions): SqliteStore {
  if (typeof path !== 'string' || path === '') {
    throw new MisuseError('invalid_option', "sqliteStore needs a path, as sqliteStore({ path: 'runs.db' }).")
  }
  const database = openDatabase(path)
  return {
    journal: sqliteJournal(database),
    sessions: sqliteSessions(database),
    close() {
      if (database.isOpen) database.close()
    },
  }
}
