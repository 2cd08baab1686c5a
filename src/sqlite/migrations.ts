/**
 * What makes the tables of each version from those of the one before; `PRAGMA user_version` counts how many were
 * carried out. What was released is never changed, only followed by another.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE loopchart_runs (
    run_id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    reason TEXT,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    length INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX loopchart_runs_by_start ON loopchart_runs (started_at, run_id);
  CREATE INDEX loopchart_runs_by_status ON loopchart_runs (status, started_at, run_id);

  CREATE TABLE loopchart_entries (
    run_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
  ) WITHOUT ROWID;

  CREATE TABLE loopchart_leases (
    run_id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    ttl INTEGER NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE loopchart_sessions (
    id TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    record TEXT NOT NULL
  ) WITHOUT ROWID;
  `,
]
