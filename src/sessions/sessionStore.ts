import { losslessText, readLossless } from '../journal/losslessJson.ts'
import type { MemoryState } from '../machines/memoryState.ts'
import type { Message } from '../messages/types.ts'

/** What is kept of a conversation. Plain JSON. */
export interface SessionRecord {
  readonly version: 1
  /** How often the record has been saved. */
  readonly revision: number
  readonly messages: readonly Message[]
  /** What the agent's memory has come to: its summary, its facts. */
  readonly memory?: MemoryState
  /** The run that was begun and whose end is not in `messages` yet: it is under way, interrupted, or waits for a person. */
  readonly openRun?: string
}

/** Where conversations are kept. A method may answer at once or with a promise. */
export interface SessionStore {
  /** The record of a session, `undefined` where there is none. */
  load(id: string): SessionRecord | undefined | Promise<SessionRecord | undefined>
  /**
   * Replaces the record of a session, if the one that is stored has the revision before it (1 is the first). It is safe
   * when this returns.
   *
   * @returns Whether it was saved; `false` where somebody else has saved meanwhile.
   */
  save(id: string, record: SessionRecord): boolean | Promise<boolean>
}

/** Sessions kept in this process. Records are stored as text, so nobody can change what was saved. */
export function memorySessions(): SessionStore {
  const records = new Map<string, string>()
  const load = (id: string): SessionRecord | undefined => {
    const text = records.get(id)
    return text === undefined ? undefined : (readLossless(text) as SessionRecord)
  }
  return {
    load,
    save(id, record) {
      if (record.revision !== (load(id)?.revision ?? 0) + 1) return false
      records.set(id, losslessText(record))
      return true
    },
  }
}
