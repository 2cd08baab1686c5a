import type { RunStatus } from '../../../journal/entry.ts'
import type { RunRow } from '../../protocol.ts'

export interface RunFilter {
  /** Default: any. */
  readonly status?: RunStatus | undefined
  readonly search: string
}

/** The runs that are known and fit a filter, latest start first. */
export class RunList {
  readonly filter: RunFilter
  readonly #rows = new Map<string, RunRow>()
  #sorted: readonly RunRow[] | undefined

  constructor(filter: RunFilter) {
    this.filter = filter
  }

  get rows(): readonly RunRow[] {
    this.#sorted ??= [...this.#rows.values()].sort(
      (a, b) => b.startedAt - a.startedAt || (a.runId < b.runId ? 1 : -1),
    )
    return this.#sorted
  }

  get(runId: string): RunRow | undefined {
    return this.#rows.get(runId)
  }

  /** Rows that the server has found to fit. */
  add(rows: readonly RunRow[]): void {
    for (const row of rows) this.#rows.set(row.runId, row)
    this.#sorted = undefined
  }

  /** A run has begun or changed. */
  update(row: RunRow): void {
    if (this.#rows.has(row.runId) ? this.#fitsStatus(row) : fits(row, this.filter))
      this.#rows.set(row.runId, row)
    else this.#rows.delete(row.runId)
    this.#sorted = undefined
  }

  #fitsStatus({ status }: RunRow): boolean {
    return this.filter.status === undefined || this.filter.status === status
  }
}

/** Whether a row fits: by its status, and by every word of the search in what the list shows of it. */
export function fits(row: RunRow, { status, search }: RunFilter): boolean {
  if (status !== undefined && row.status !== status) return false
  const text = [row.runId, row.question, row.agent, row.reason, row.problem].join('\n').toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/** The run that stands so many places further down in the list; the first one where none is chosen. */
export function neighbourOf(
  rows: readonly RunRow[],
  runId: string | undefined,
  distance: number,
): RunRow | undefined {
  const position = rows.findIndex((row) => row.runId === runId)
  if (position === -1) return rows[0]
  return rows[Math.min(rows.length - 1, Math.max(0, position + distance))]
}
