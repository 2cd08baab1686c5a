import { losslessText, readLossless } from '../journal/losslessJson.ts'
import { storeKey } from '../journal/storeKey.ts'
import type { SessionRecord, SessionStore } from '../sessions/sessionStore.ts'
import type { Query } from './postgresStore.ts'

export function postgresSessions(query: Query): SessionStore {
  return {
    async load(id) {
      const { rows } = await query({
        text: 'SELECT record FROM loopchart_sessions WHERE id = $1',
        values: [storeKey(id)],
      })
      return rows[0] === undefined ? undefined : (readLossless(String(rows[0].record)) as SessionRecord)
    },
    async save(id, record) {
      const key = storeKey(id)
      const text = losslessText(record)
      const { revision } = record
      const { rowCount } = await query(
        revision === 1
          ? {
              text: 'INSERT INTO loopchart_sessions (id, revision, record) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING',
              values: [key, text],
            }
          : {
              text: 'UPDATE loopchart_sessions SET revision = $1, record = $2 WHERE id = $3 AND revision = $1 - 1',
              values: [revision, text, key],
            },
      )
      return rowCount === 1
    },
  }
}
