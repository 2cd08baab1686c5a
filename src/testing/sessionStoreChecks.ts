import { randomUUID } from 'node:crypto'
import type { SessionRecord, SessionStore } from '../sessions/sessionStore.ts'
import { type Check, Findings } from './storeCheck.ts'

const find = new Findings('session_store_check_failed')

/**
 * What every store of sessions promises, as checks for your own; used like `journalChecks`.
 *
 * @param open Gives the store. Called once for each check; it may give the same one each time.
 */
export function sessionStoreChecks(open: () => SessionStore | Promise<SessionStore>): readonly Check[] {
  return Object.entries(checks).map(([name, check]) => ({ name, run: async () => check(await open()) }))
}

const checks: Readonly<Record<string, (store: SessionStore) => Promise<void>>> = {
  async 'gives back the record that was saved last'(store) {
    const id = randomUUID()
    find.same(await store.load(id), undefined, 'load gives undefined for a session that there is not')
    for (let revision = 1; revision <= 3; revision++) {
      const record = { ...recordOf(revision), openRun: `run ${revision}` }
      find.same(
        await store.save(id, record),
        true,
        `save of revision ${revision} after ${revision - 1} gives true`,
      )
      find.same(await store.load(id), record, 'load gives back what was saved')
    }
  },

  async 'refuses a record that does not follow the one it has'(store) {
    const id = randomUUID()
    find.same(await store.save(id, recordOf(2)), false, 'the first revision is 1')
    find.same(await store.load(id), undefined, 'what was refused leaves no trace')
    await store.save(id, recordOf(1))
    for (const revision of [1, 3, 100]) {
      const isSaved = await store.save(id, recordOf(revision))
      find.same(isSaved, false, `save of revision ${revision} after 1 gives false`)
    }
    find.same(await store.load(id), recordOf(1), 'what was refused leaves no trace')
  },

  async 'lets one win of several that save at once'(store) {
    const id = randomUUID()
    for (let revision = 1; revision <= 5; revision++) {
      const candidates = Array.from({ length: 8 }, (_, i) => recordOf(revision, `candidate ${i}`))
      const saved = await Promise.all(candidates.map(async (record) => store.save(id, record)))
      find.same(saved.filter(Boolean).length, 1, 'of 8 that save the same revision at once, one is told true')
      find.same(await store.load(id), candidates[saved.indexOf(true)], 'the record is the one of the winner')
    }
  },

  async 'keeps sessions apart, and gives back any text'(store) {
    const suffix = randomUUID()
    const ids = ['a', 'A', 'a ', "a'b", 'a\u0000b', '\ud800', '\ud801', '👩‍👧', '__proto__'].map(
      (id) => id + suffix,
    )
    for (const id of ids) await store.save(id, recordOf(1, id))
    for (const id of ids) {
      find.same(await store.load(id), recordOf(1, id), `the session ${JSON.stringify(id)} has its own record`)
    }
  },
}

function recordOf(revision: number, content = 'hello'): SessionRecord {
  return { version: 1, revision, messages: [{ role: 'user', content }] }
}
