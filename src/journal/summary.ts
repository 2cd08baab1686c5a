import type { AbortReason } from '../machines/outcome.ts'
import type { JournalEntry, RunStatus, RunSummary } from './entry.ts'

/** How entries change the summary of a run. Made from them alone, so that a store need not read what it has. */
export interface SummaryChange {
  readonly status: RunStatus
  readonly reason: AbortReason | undefined
  /** The latest time at which one of them was written. Milliseconds since 1970. */
  readonly at: number
  /** The last step of which they tell the model's reply; 0 where they tell of none. */
  readonly step: number
}

/** @param entries At least one, as they are appended together. */
export function summaryChange(entries: readonly JournalEntry[]): SummaryChange {
  let at = Number.NEGATIVE_INFINITY
  let step = 0
  for (const entry of entries) {
    at = Math.max(at, entry.at)
    step = Math.max(step, stepOf(entry))
  }
  const last = entries.at(-1)
  return {
    status: last?.type === 'ended' ? last.status : last?.type === 'waiting' ? 'waiting' : 'running',
    reason: last?.type === 'ended' ? last.reason : undefined,
    at,
    step,
  }
}

/** The summary of a run after entries were appended to it. */
export function summaryAfter(
  runId: string,
  before: RunSummary | undefined,
  entries: readonly JournalEntry[],
): RunSummary {
  const { status, reason, at, step } = summaryChange(entries)
  return {
    runId,
    status,
    ...(reason === undefined ? {} : { reason }),
    startedAt: before?.startedAt ?? entries[0]?.at ?? at,
    // A clock that was put back does not make a run older.
    updatedAt: Math.max(before?.updatedAt ?? at, at),
    steps: Math.max(before?.steps ?? 0, step),
    length: (before?.length ?? 0) + entries.length,
  }
}

/** The step whose model call an entry settles; 0 where it settles none. */
function stepOf(entry: JournalEntry): number {
  if (entry.type !== 'event' || !('place' in entry.event)) return 0
  const [kind, step] = entry.event.place.split('.')
  return kind === 'model' ? Number(step) : 0
}
