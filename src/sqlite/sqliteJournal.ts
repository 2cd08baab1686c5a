import type { DatabaseSync } from 'node:sqlite'
import type { Journal, RunSummary } from '../journal/entry.ts'
import { entryText } from '../journal/entryText.ts'
import { type EntryRow, LAST_START, type RunRow, readRows, summaryOf } from '../journal/rows.ts'
import { checkedQuery, checkedTime } from '../journal/runQuery.ts'
import { storeKey } from '../journal/storeKey.ts'
import { summaryChange } from '../journal/summary.ts'
import { inTransaction } from './database.ts'

const columns = 'run_id, status, reason, started_at, updated_at, steps, length'

const page = '(started_at, run_id) < (?, ?) ORDER BY started_at DESC, run_id DESC LIMIT ?'

export function sqliteJournal(database: DatabaseSync): Journal {
  const begin = database.prepare(
    `INSERT INTO loopchart_runs (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const goOn = database.prepare(`
    UPDATE loopchart_runs
    SET status = ?, reason = ?, updated_at = max(updated_at, ?), steps = max(steps, ?), length = ?
    WHERE run_id = ? AND length = ?`)
  const add = database.prepare('INSERT INTO loopchart_entries (run_id, position, entry) VALUES (?, ?, ?)')
  const load = database.prepare(`
    SELECT length, position, entry FROM loopchart_runs LEFT JOIN loopchart_entries USING (run_id)
    WHERE run_id = ? ORDER BY position`)
  const list = database.prepare(`SELECT ${columns} FROM loopchart_runs WHERE ${page}`)
  const listOfStatus = database.prepare(`SELECT ${columns} FROM loopchart_runs WHERE status = ? AND ${page}`)
  const ended = "SELECT run_id FROM loopchart_runs WHERE status IN ('done', 'aborted') AND updated_at < ?"
  const pruneEntries = database.prepare(`DELETE FROM loopchart_entries WHERE run_id IN (${ended})`)
  const pruneLeases = database.prepare(`DELETE FROM loopchart_leases WHERE run_id IN (${ended})`)
  const pruneRuns = database.prepare(`DELETE FROM loopchart_runs WHERE run_id IN (${ended})`)
  const free = ':takeOver OR held.owner = :owner OR held.expires_at <= :now'
  // No lease lasts longer than it was taken for, even where the clock was put back meanwhile.
  const lease = database.prepare(`
    INSERT INTO loopchart_leases AS held (run_id, owner, expires_at, ttl) VALUES (:run, :owner, :now + :ttl, :ttl)
    ON CONFLICT (run_id) DO UPDATE SET
      owner = iif(${free}, :owner, held.owner),
      ttl = iif(${free}, :ttl, held.ttl),
      expires_at = iif(${free}, :now + :ttl, min(held.expires_at, :now + held.ttl))
    RETURNING owner`)
  const release = database.prepare('DELETE FROM loopchart_leases WHERE run_id = ? AND owner = ?')

  return {
    append(runId, entries, length) {
      const key = storeKey(runId)
      // Before the transaction: what cannot be written must not hold up others.
      const texts = entries.map(entryText)
      const { status, reason = null, at, step } = summaryChange(entries)
      const newLength = length + texts.length
      return inTransaction(database, () => {
        const { changes } =
          length === 0
            ? begin.run(key, status, reason, entries[0]?.at ?? at, at, step, newLength)
            : goOn.run(status, reason, at, step, newLength, key, length)
        if (changes === 0) return false
        for (const [i, text] of texts.entries()) add.run(key, length + i, text)
        return true
      })
    },
    load: (runId) => readRows(runId, load.all(storeKey(runId)) as unknown as EntryRow[]),
    list(query): readonly RunSummary[] {
      const { status, limit, before = LAST_START } = checkedQuery(query)
      const from = [before.startedAt, storeKey(before.runId), limit] as const
      const rows = status === undefined ? list.all(...from) : listOfStatus.all(status, ...from)
      return (rows as unknown as RunRow[]).map(summaryOf)
    },
    prune(query) {
      const endedBefore = checkedTime(query.endedBefore)
      return inTransaction(database, () => {
        pruneEntries.run(endedBefore)
        pruneLeases.run(endedBefore)
        return Number(pruneRuns.run(endedBefore).changes)
      })
    },
    lease(runId, owner, ttlMs, takeOver = false) {
      const taking = { run: storeKey(runId), owner, now: Date.now(), ttl: ttlMs, takeOver: Number(takeOver) }
      const row = lease.get(taking)
      return row?.owner === owner
    },
    release(runId, owner) {
      release.run(storeKey(runId), owner)
    },
  }
}
