export { type SqliteStore, type SqliteStoreOptions, sqliteStore } from './sqliteStore.ts'
