import { LoopchartError, MisuseError } from '../errors.ts'

/** A statement; with a name it is prepared once on each connection. */
export interface PostgresQuery {
  readonly name?: string
  readonly text: string
  readonly values?: unknown[]
}

export interface PostgresResult {
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly rowCount: number | null
}

/** What of a `Client` of the package `pg` is used. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>
  release(destroy?: boolean): void
}

/** What of a `Pool` of the package `pg` is used. */
export interface PostgresPool {
  query(query: PostgresQuery): Promise<PostgresResult>
  connect(): Promise<PostgresClient>
  end(): Promise<void>
}

/**
 * A pool of connections of the package `pg`, which is loaded here and only here.
 *
 * @throws LoopchartError `package_missing` where it is not installed.
 */
export async function connectionPool(connectionString: string): Promise<PostgresPool> {
  const { default: pg } = await import('pg').catch((cause: unknown) => {
    throw new LoopchartError(
      'package_missing',
      'postgresStore({ connectionString }) needs the package "pg": npm install pg. Or give it a pool of your own.',
      { cause },
    )
  })
  const pool = new pg.Pool({ connectionString })
  // A connection that breaks while nobody uses it is replaced; without a listener it would end the process.
  pool.on('error', () => {})
  return pool
}

/** @throws MisuseError `invalid_option` for what is no pool. */
export function checkedPool(pool: PostgresPool): PostgresPool {
  if (typeof pool?.query === 'function' && typeof pool.connect === 'function') return pool
  throw new MisuseError('invalid_option', 'pool must be a Pool of the package "pg", with query and connect.')
}
