import type { Journal, RunQuery, RunSummary } from './entry.ts'
import { entryText, readEntry } from './entryText.ts'
import { checkedQuery, checkedTime } from './runQuery.ts'
import { summaryAfter } from './summary.ts'

interface Kept {
  readonly lines: string[]
  summary: RunSummary
}

interface Lease {
  readonly owner: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly ttlMs: number
}

/**
 * Journals kept in this process, for tests and for runs that need not survive it. Entries are stored as text, so what a
 * crash would lose is lost here too, and nobody can change what has been recorded.
 */
export function memoryJournal(): Journal {
  const runs = new Map<string, Kept>()
  const leases = new Map<string, Lease>()
  return {
    append(runId, entries, length) {
      const kept = runs.get(runId)
      if ((kept?.lines.length ?? 0) !== length) return false
      const added = entries.map(entryText)
      const summary = summaryAfter(runId, kept?.summary, entries)
      if (kept === undefined) {
        runs.set(runId, { lines: added, summary })
      } else {
        kept.lines.push(...added)
        kept.summary = summary
      }
      return true
    },
    load(runId) {
      return runs.get(runId)?.lines.map((line, position) => readEntry(line, { runId, position }))
    },
    list(query) {
      return page(
        [...runs.values()].map(({ summary }) => summary),
        query,
      )
    },
    prune(query) {
      const endedBefore = checkedTime(query.endedBefore)
      const ended = [...runs.values()].filter(
        ({ summary: { status, updatedAt } }) =>
          (status === 'done' || status === 'aborted') && updatedAt < endedBefore,
      )
      for (const { summary } of ended) {
        runs.delete(summary.runId)
        leases.delete(summary.runId)
      }
      return ended.length
    },
    lease(runId, owner, ttlMs, takeOver = false) {
      const now = Date.now()
      const held = leases.get(runId)
      if (!takeOver && held !== undefined && held.owner !== owner && held.expiresAt > now) {
        // No lease lasts longer than it was taken for, even where the clock was put back meanwhile.
        leases.set(runId, { ...held, expiresAt: Math.min(held.expiresAt, now + held.ttlMs) })
        return false
      }
      leases.set(runId, { owner, expiresAt: now + ttlMs, ttlMs })
      return true
    },
    release(runId, owner) {
      if (leases.get(runId)?.owner === owner) leases.delete(runId)
    },
  }
}

function page(summaries: readonly RunSummary[], query: RunQuery | undefined): readonly RunSummary[] {
  const { status, limit, before } = checkedQuery(query)
  return summaries
    .filter((summary) => status === undefined || summary.status === status)
    .filter((summary) => before === undefined || byStart(summary, before) > 0)
    .sort(byStart)
    .slice(0, limit)
}

type Start = Pick<RunSummary, 'startedAt' | 'runId'>

/** Latest first. */
function byStart(a: Start, b: Start): number {
  return b.startedAt - a.startedAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0)
}
