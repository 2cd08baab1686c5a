import type { Journal } from '../journal/entry.ts'
import { entryText } from '../journal/entryText.ts'
import { type EntryRow, LAST_START, type RunRow, readRows, summaryOf } from '../journal/rows.ts'
import { checkedQuery, checkedTime } from '../journal/runQuery.ts'
import { storeKey } from '../journal/storeKey.ts'
import { summaryChange } from '../journal/summary.ts'
import type { PostgresQuery } from './pool.ts'
import type { Query } from './postgresStore.ts'

/** `pg` gives a bigint as text, a double as a number. */
const columns =
  'run_id, status, reason, started_at::float8 AS started_at, updated_at::float8 AS updated_at, steps, length'

const page = '(started_at, run_id) < ($1, $2) ORDER BY started_at DESC, run_id DESC LIMIT $3'

/**
 * Appends in one statement, which is one transaction: first the row of the run is made, or changed if it has the expected
 * length, and where that happened the entries follow. Of several that do so at once, the database lets one after another
 * see the row, so that one wins.
 */
const begin = {
  name: 'loopchart_begin_1',
  text: `
    WITH run AS (
      INSERT INTO loopchart_runs (run_id, status, reason, started_at, updated_at, steps, length)
      VALUES ($1, $2, $3, $4, $5, $6, cardinality($7::text[]))
      ON CONFLICT DO NOTHING
      RETURNING run_id
    )
    INSERT INTO loopchart_entries (run_id, position, entry)
    SELECT run.run_id, added.position - 1, added.entry
    FROM run, unnest($7::text[]) WITH ORDINALITY AS added (entry, position)`,
}

const goOn = {
  name: 'loopchart_go_on_1',
  text: `
    WITH run AS (
      UPDATE loopchart_runs
      SET status = $2, reason = $3, updated_at = greatest(updated_at, $4), steps = greatest(steps, $5),
        length = length + cardinality($6::text[])
      WHERE run_id = $1 AND length = $7
      RETURNING run_id
    )
    INSERT INTO loopchart_entries (run_id, position, entry)
    SELECT run.run_id, $7 + added.position - 1, added.entry
    FROM run, unnest($6::text[]) WITH ORDINALITY AS added (entry, position)`,
}

const load = `
  SELECT length, position, entry FROM loopchart_runs LEFT JOIN loopchart_entries USING (run_id)
  WHERE run_id = $1 ORDER BY position`

const prune = `
  WITH ended AS (
    DELETE FROM loopchart_runs WHERE status IN ('done', 'aborted') AND updated_at < $1 RETURNING run_id
  ), entries AS (
    DELETE FROM loopchart_entries USING ended WHERE loopchart_entries.run_id = ended.run_id
  ), leases AS (
    DELETE FROM loopchart_leases USING ended WHERE loopchart_leases.run_id = ended.run_id
  )
  SELECT count(*)::integer AS pruned FROM ended`

/**
 * The clock is the server's, so that all processes go by the same. No lease lasts longer than it was taken for, even
 * where that clock was put back meanwhile.
 */
const lease = `
  INSERT INTO loopchart_leases AS held (run_id, owner, expires_at, ttl)
  VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond', $3 * interval '1 millisecond')
  ON CONFLICT (run_id) DO UPDATE SET (owner, ttl, expires_at) = (
    SELECT CASE WHEN free THEN excluded.owner ELSE held.owner END,
      CASE WHEN free THEN excluded.ttl ELSE held.ttl END,
      CASE WHEN free THEN excluded.expires_at ELSE least(held.expires_at, clock_timestamp() + held.ttl) END
    FROM (SELECT $4 OR held.owner = excluded.owner OR held.expires_at <= clock_timestamp() AS free) AS lease
  )
  RETURNING owner`

export function postgresJournal(query: Query): Journal {
  return {
    async append(runId, entries, length) {
      const key = storeKey(runId)
      const texts = entries.map(entryText)
      const { status, reason = null, at, step } = summaryChange(entries)
      const statement: PostgresQuery =
        length === 0
          ? { ...begin, values: [key, status, reason, entries[0]?.at ?? at, at, step, texts] }
          : { ...goOn, values: [key, status, reason, at, step, texts, length] }
      const { rowCount } = await query(statement)
      return rowCount === texts.length
    },
    async load(runId) {
      const { rows } = await query({ text: load, values: [storeKey(runId)] })
      return readRows(runId, rows as unknown as readonly EntryRow[])
    },
    async list(asked) {
      const { status, limit, before = LAST_START } = checkedQuery(asked)
      const from = [before.startedAt, storeKey(before.runId), limit]
      const { rows } = await query(
        status === undefined
          ? { text: `SELECT ${columns} FROM loopchart_runs WHERE ${page}`, values: from }
          : {
              text: `SELECT ${columns} FROM loopchart_runs WHERE status = $4 AND ${page}`,
              values: [...from, status],
            },
      )
      return (rows as unknown as readonly RunRow[]).map(summaryOf)
    },
    async prune({ endedBefore }) {
      const { rows } = await query({ text: prune, values: [checkedTime(endedBefore)] })
      return Number(rows[0]?.pruned)
    },
    async lease(runId, owner, ttlMs, takeOver = false) {
      const { rows } = await query({ text: lease, values: [storeKey(runId), owner, ttlMs, takeOver] })
      return rows[0]?.owner === owner
    },
    async release(runId, owner) {
      await query({
        text: 'DELETE FROM loopchart_leases WHERE run_id = $1 AND owner = $2',
        values: [storeKey(runId), owner],
      })
    },
  }
}
