import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { LoopchartError, messageOf } from '../errors.ts'
import { migrations } from './migrations.ts'

/** How long a write waits for another process that writes. Milliseconds. */
const BUSY_TIMEOUT_MS = 5000

/**
 * Opens a database, makes its folder and tables where they are missing, and brings older tables up to date.
 *
 * @throws LoopchartError `store_unavailable` where it cannot be opened, `store_too_new` where a newer Loopchart made it.
 */
export function openDatabase(path: string): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true })
    database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
    // WAL lets others read while one writes. FULL: what was committed outlives a power failure, not only the process.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    migrate(database, path)
    return database
  } catch (cause) {
    database?.close()
    if (cause instanceof LoopchartError) throw cause
    throw new LoopchartError(
      'store_unavailable',
      `The SQLite database "${path}" cannot be used: ${messageOf(cause)}. It must be a file, or not exist yet, in a folder ` +
        'that this process may write to.',
      { cause },
    )
  }
}

function migrate(database: DatabaseSync, path: string): void {
  if (versionOf(database) === migrations.length) return
  inTransaction(database, () => {
    // Another process may have been first.
    const version = versionOf(database)
    if (version > migrations.length) {
      throw new LoopchartError(
        'store_too_new',
        `The SQLite database "${path}" is of version ${version}, and this Loopchart knows version ` +
          `${migrations.length}. Update Loopchart.`,
      )
    }
    for (const migration of migrations.slice(version)) database.exec(migration)
    database.exec(`PRAGMA user_version = ${migrations.length}`)
  })
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.user_version)
}

/** Does all of something or nothing. What it throws passes through. */
export function inTransaction<Result>(database: DatabaseSync, act: () => Result): Result {
  // IMMEDIATE: who reads first and writes then could find that somebody else has written in between.
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = act()
    database.exec('COMMIT')
    return result
  } catch (thrown) {
    // A full disk has rolled it back already.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw thrown
  }
}
