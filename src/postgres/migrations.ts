import { LoopchartError } from '../errors.ts'
import type { PostgresClient, PostgresPool } from './pool.ts'

/**
 * What makes the tables of each version from those of the one before; `loopchart_migrations` counts how many were
 * carried out. What was released is never changed, only followed by another.
 *
 * Entries are `text`, not `jsonb`: what was written comes back byte for byte, and jsonb refuses the escape of NUL. Rows of
 * runs change with each step; the space that is left on their pages keeps that cheap.
 */
const migrations: readonly string[] = [
  `
  CREATE TABLE loopchart_runs (
    run_id text COLLATE "C" PRIMARY KEY,
    status text NOT NULL,
    reason text,
    started_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    steps integer NOT NULL,
    length integer NOT NULL
  ) WITH (fillfactor = 70);
  CREATE INDEX loopchart_runs_by_start ON loopchart_runs (started_at, run_id);
  CREATE INDEX loopchart_runs_by_status ON loopchart_runs (status, started_at, run_id);

  CREATE TABLE loopchart_entries (
    run_id text COLLATE "C" NOT NULL,
    position integer NOT NULL,
    entry text NOT NULL,
    PRIMARY KEY (run_id, position)
  );

  CREATE TABLE loopchart_leases (
    run_id text COLLATE "C" PRIMARY KEY,
    owner text NOT NULL,
    expires_at timestamptz NOT NULL,
    ttl interval NOT NULL
  );

  CREATE TABLE loopchart_sessions (
    id text COLLATE "C" PRIMARY KEY,
    revision integer NOT NULL,
    record text NOT NULL
  );
  `,
]

/** Names the lock that processes take which would migrate at once; any number that nobody else takes. */
const LOCK = 7_106_110_307

/**
 * Makes the tables where they are missing, and brings older ones up to date. Any number of processes may do so at once.
 * Where there is nothing to do, it needs no right to make tables.
 *
 * @throws LoopchartError `store_too_new` where a newer Loopchart made them.
 */
export async function migrate(pool: PostgresPool): Promise<void> {
  const client = await pool.connect()
  let isDone = false
  try {
    if ((await versionOf(client)) !== migrations.length) await migrateAlone(client)
    isDone = true
  } finally {
    // Closing the connection rolls back what was begun on it.
    client.release(!isDone)
  }
}

async function migrateAlone(client: PostgresClient): Promise<void> {
  await client.query({ text: 'BEGIN' })
  await client.query({ text: 'SELECT pg_advisory_xact_lock($1)', values: [LOCK] })
  // The table first: while it waited for the lock, this session still remembers that there is none.
  await client.query({ text: 'CREATE TABLE IF NOT EXISTS loopchart_migrations (version integer NOT NULL)' })
  const version = await recordedVersion(client)
  if (version > migrations.length) {
    throw new LoopchartError(
      'store_too_new',
      `The tables in this database are of version ${version}, and this Loopchart knows version ` +
        `${migrations.length}. Update Loopchart.`,
    )
  }
  for (const text of migrations.slice(version)) await client.query({ text })
  await client.query({ text: 'DELETE FROM loopchart_migrations' })
  await client.query({
    text: 'INSERT INTO loopchart_migrations (version) VALUES ($1)',
    values: [migrations.length],
  })
  await client.query({ text: 'COMMIT' })
}

/** 0 where there are no tables. */
async function versionOf(client: PostgresClient): Promise<number> {
  const { rows } = await client.query({
    text: "SELECT to_regclass('loopchart_migrations') IS NOT NULL AS exists",
  })
  return rows[0]?.exists === true ? recordedVersion(client) : 0
}

async function recordedVersion(client: PostgresClient): Promise<number> {
  const { rows } = await client.query({ text: 'SELECT version FROM loopchart_migrations' })
  return Number(rows[0]?.version ?? 0)
}
