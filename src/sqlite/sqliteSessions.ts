import type { DatabaseSync } from 'node:sqlite'
import { losslessText, readLossless } from '../journal/losslessJson.ts'
import { storeKey } from '../journal/storeKey.ts'
import type { SessionRecord, SessionStore } from '../sessions/sessionStore.ts'

export function sqliteSessions(database: DatabaseSync): SessionStore {
  const load = database.prepare('SELECT record FROM loopchart_sessions WHERE id = ?')
  const begin = database.prepare(
    'INSERT INTO loopchart_sessions (id, revision, record) VALUES (?, 1, ?) ON CONFLICT DO NOTHING',
  )
  const replace = database.prepare(
    'UPDATE loopchart_sessions SET revision = ?, record = ? WHERE id = ? AND revision = ?',
  )
  return {
    load(id) {
      const row = load.get(storeKey(id))
      return row === undefined ? undefined : (readLossless(String(row.record)) as SessionRecord)
    },
    save(id, record) {
      const key = storeKey(id)
      const text = losslessText(record)
      const { revision } = record
      const { changes } =
        revision === 1 ? begin.run(key, text) : replace.run(revision, text, key, revision - 1)
      return Number(changes) === 1
    },
  }
}
