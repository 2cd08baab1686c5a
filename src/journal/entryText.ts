import { JournalError, messageOf } from '../errors.ts'
import { type Fields, isFields } from '../messages/fields.ts'
import type { JournalEntry } from './entry.ts'
import { losslessText, readLossless } from './losslessJson.ts'

/**
 * An entry as text, for a store to keep: one line of JSON, in which Date, BigInt, Error, Map, Set and numbers such as
 * Infinity survive.
 *
 * @throws TypeError for a value that contains itself.
 */
export function entryText(entry: JournalEntry): string {
  return losslessText(entry)
}

/**
 * The entry that `entryText` made a text of.
 *
 * @param where Names the entry in the error: its run, and its position from 0 on.
 * @throws JournalError `journal_invalid` for text that was cut off, is no JSON or no entry, or is of a newer Loopchart.
 */
export function readEntry(
  text: string,
  { runId, position }: { readonly runId: string; readonly position: number },
): JournalEntry {
  const invalid = (what: string, cause?: unknown): JournalError =>
    new JournalError(`Entry ${position} of run "${runId}" cannot be read: ${what}`, {
      runId,
      position,
      cause,
    })
  let entry: unknown
  try {
    entry = readLossless(text)
  } catch (cause) {
    throw invalid(`it is cut off or no JSON (${messageOf(cause)}).`, cause)
  }
  if (!isFields(entry) || typeof entry.type !== 'string') throw invalid('it is no journal entry.')
  const { type, version, at } = entry
  if (!isKnown(type)) {
    throw invalid(
      `this Loopchart knows no entry of type "${type}". A newer one has written it: update Loopchart.`,
    )
  }
  if (type === 'started' && version !== 1) {
    throw invalid(
      `it is of version ${String(version)}, and this Loopchart reads version 1. Update Loopchart.`,
    )
  }
  if (typeof at !== 'number' || !soundness[type](entry)) {
    throw invalid(`a part of the "${type}" entry is missing.`)
  }
  return entry as unknown as JournalEntry
}

/** What the rest of Loopchart relies on, by type of entry. */
const soundness: Readonly<Record<JournalEntry['type'], (entry: Fields) => boolean>> = {
  started: ({ input }) => isFields(input),
  migrated: ({ input }) => isFields(input),
  resumed: () => true,
  intent: ({ place }) => typeof place === 'string',
  event: ({ event }) => isFields(event) && isSoundEvent(event),
  waiting: () => true,
  ended: ({ status }) => status === 'done' || status === 'aborted',
}

function isKnown(type: string): type is JournalEntry['type'] {
  return Object.hasOwn(soundness, type)
}

function isSoundEvent({ type, place, error, decision, message }: Fields): boolean {
  switch (type) {
    case 'settled':
      return typeof place === 'string'
    case 'failed':
      return typeof place === 'string' && isFields(error)
    case 'decided':
      return isFields(decision)
    case 'sent':
      return isFields(message)
    default:
      return type === 'cancelled'
  }
}
