export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from './pool.ts'
export { type PostgresStore, type PostgresStoreOptions, postgresStore } from './postgresStore.ts'
