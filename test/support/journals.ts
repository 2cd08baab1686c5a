import { type Journal, type JournalEntry, memoryJournal } from '../../src/index.ts'

/** A journal in memory that holds these entries for a run, and takes more. */
export async function journalOf(entries: readonly JournalEntry[], runId = 'r'): Promise<Journal> {
  const journal = memoryJournal()
  await journal.append(runId, entries, 0)
  return journal
}

/** A journal in memory that does some things in a way of its own. */
export function journalThat(does: Partial<Journal>): Journal {
  return { ...memoryJournal(), ...does }
}
