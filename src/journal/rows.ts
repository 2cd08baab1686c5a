import { JournalError } from '../errors.ts'
import type { AbortReason } from '../machines/outcome.ts'
import type { JournalEntry, RunStatus, RunSummary } from './entry.ts'
import { readEntry } from './entryText.ts'
import { idOf } from './storeKey.ts'

/** What SQL stores keep of a run: their common tables. */
export interface RunRow {
  readonly run_id: string
  readonly status: RunStatus
  readonly reason: AbortReason | null
  readonly started_at: number
  readonly updated_at: number
  readonly steps: number
  readonly length: number
}

/** Comes before all runs in a list: where its first page begins. */
export const LAST_START: Pick<RunSummary, 'startedAt' | 'runId'> = {
  startedAt: Number.MAX_SAFE_INTEGER,
  runId: '',
}

export function summaryOf(row: RunRow): RunSummary {
  return {
    runId: idOf(row.run_id),
    status: row.status,
    ...(row.reason === null ? {} : { reason: row.reason }),
    startedAt: row.started_at,
    updatedAt: row.updated_at,
    steps: row.steps,
    length: row.length,
  }
}

/** All of a run's journal at one moment: a row for each entry, each with the length of the whole. */
export interface EntryRow {
  readonly length: number
  /** `null` where the run has no entry. */
  readonly position: number | null
  readonly entry: string | null
}

/**
 * The journal of a run from its rows, in order; `undefined` where there are none.
 *
 * @throws JournalError where an entry is missing or cannot be read.
 */
export function readRows(runId: string, rows: readonly EntryRow[]): readonly JournalEntry[] | undefined {
  const [first] = rows
  if (first === undefined) return undefined
  return Array.from({ length: first.length }, (_, position) => {
    const row = rows[position]
    if (row?.position !== position || row.entry === null) {
      throw new JournalError(
        `Entry ${position} of run "${runId}" is missing; there should be ${first.length}.`,
        {
          runId,
          position,
        },
      )
    }
    return readEntry(row.entry, { runId, position })
  })
}
