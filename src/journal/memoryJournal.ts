import type { Journal, JournalEntry } from './entry.ts'

/**
 * Journals kept in this process, for tests and for runs that need not survive it. Entries are stored as JSON text,
 * so what a crash would lose is lost here too, and nobody can change what has been recorded.
 */
export function memoryJournal(): Journal {
  const journals = new Map<string, string[]>()
  return {
    append(runId, entries) {
      const lines = journals.get(runId) ?? []
      journals.set(runId, lines)
      for (const entry of entries) lines.push(JSON.stringify(entry))
    },
    load(runId) {
      return journals.get(runId)?.map((line) => JSON.parse(line) as JournalEntry)
    },
  }
}
