import { MisuseError } from '../errors.ts'
import type { Journal } from '../journal/entry.ts'
import type { SessionStore } from '../sessions/sessionStore.ts'
import { migrate } from './migrations.ts'
import {
  checkedPool,
  connectionPool,
  type PostgresPool,
  type PostgresQuery,
  type PostgresResult,
} from './pool.ts'
import { postgresJournal } from './postgresJournal.ts'
import { postgresSessions } from './postgresSessions.ts'

export type PostgresStoreOptions =
  /** A `Pool` of the package `pg`, which stays yours to end. */
  | { readonly pool: PostgresPool; readonly connectionString?: undefined }
  /** Where the database is, as `postgres://user:password@host/database`; a pool is made for it. */
  | { readonly connectionString: string; readonly pool?: undefined }

/** Journals and conversations in a Postgres database. */
export interface PostgresStore {
  readonly journal: Journal
  readonly sessions: SessionStore
  /**
   * Makes the tables, or brings them up to date. The first use does so by itself; call it where only your deployment may
   * make tables.
   *
   * @throws LoopchartError `store_too_new` where a newer Loopchart made them.
   */
  migrate(): Promise<void>
  /** Closes the connections, where the store made them. */
  close(): Promise<void>
}

/** Sends a statement to a database that has the tables. */
export type Query = (query: PostgresQuery) => Promise<PostgresResult>

/**
 * Keeps journals and conversations in Postgres, for any number of processes on any number of machines. The tables
 * (`loopchart_…`) are in the schema that the connection's `search_path` names first. Each `append` is one statement, and
 * safe when it returns as far as the server's `synchronous_commit` makes it so.
 *
 * @throws MisuseError `invalid_option` where it is given neither a pool nor a connection string.
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  const database = new Database(options)
  const query: Query = (statement) => database.query(statement)
  return {
    journal: postgresJournal(query),
    sessions: postgresSessions(query),
    migrate: () => database.migrate(),
    close: () => database.close(),
  }
}

/** Connects and migrates when it is first used, and again where that failed. */
class Database {
  readonly #connect: () => Promise<PostgresPool>
  readonly #isOurs: boolean
  #pool: Promise<PostgresPool> | undefined
  #migrated: Promise<void> | undefined
  #isClosed = false

  constructor({ pool, connectionString }: PostgresStoreOptions) {
    if (pool === undefined && typeof connectionString !== 'string') {
      throw new MisuseError(
        'invalid_option',
        "postgresStore needs a pool or a connectionString, as postgresStore({ connectionString: 'postgres://…' }).",
      )
    }
    const given = pool && checkedPool(pool)
    this.#connect = async () => given ?? connectionPool(connectionString as string)
    this.#isOurs = given === undefined
  }

  async query(statement: PostgresQuery): Promise<PostgresResult> {
    await this.migrate()
    return (await this.#connected()).query(statement)
  }

  migrate(): Promise<void> {
    this.#migrated ??= this.#connected()
      .then(migrate)
      .catch((thrown: unknown) => {
        this.#migrated = undefined
        throw thrown
      })
    return this.#migrated
  }

  async close(): Promise<void> {
    if (!this.#isOurs || this.#isClosed) return
    this.#isClosed = true
    await (await this.#pool)?.end()
  }

  #connected(): Promise<PostgresPool> {
    this.#pool ??= this.#connect()
    return this.#pool
  }
}
