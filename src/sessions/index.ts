export { type Session, SessionError, type SessionOptions } from './session.ts'
export { memorySessions, type SessionRecord, type SessionStore } from './sessionStore.ts'
