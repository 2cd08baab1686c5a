// Runs the shop and kills itself at one of the boundaries that it passes; prints how many there were where it is not killed.
//
//   node shopProcess.ts '{"store":"sqlite","place":"runs.db","boundary":3,"ledger":"…","url":"…"}'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Journal } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres/index.ts'
import { sqliteStore } from '../../src/sqlite/index.ts'
import { shop, type World } from './shop.ts'

/** Where the runs are kept, and what a boundary is. */
export type StoreKind =
  /** Before and after each append. */
  | 'sqlite'
  /** Before each statement, those within a transaction included. */
  | 'sqlite statements'
  /** Before each append, while it is on its way, and after it. */
  | 'postgres'

interface Settings extends World {
  readonly store: StoreKind
  /** A file, or a connection string. */
  readonly place: string
  readonly boundary: number
}

const { store: kind, place, boundary, ...world } = JSON.parse(process.argv[2] ?? '') as Settings
let passed = 0

function pass(kill = (): unknown => process.kill(process.pid, 'SIGKILL')): void {
  if (passed === boundary) kill()
  passed++
}

/** A journal that is passed before and after each append. */
function aroundAppends(journal: Journal, isAsynchronous: boolean): Journal {
  return {
    ...journal,
    async append(...appended) {
      pass()
      const adding = journal.append(...appended)
      // The statement leaves the process before anything else is done.
      if (isAsynchronous) pass(() => setImmediate(() => process.kill(process.pid, 'SIGKILL')))
      const isAdded = await adding
      pass()
      return isAdded
    },
  }
}

/** From now on, each statement is a boundary. */
function aroundStatements(): void {
  for (const { prototype, name } of [
    { prototype: DatabaseSync.prototype, name: 'exec' },
    { prototype: StatementSync.prototype, name: 'run' },
  ] as const) {
    const statement = Reflect.get(prototype, name) as (...args: unknown[]) => unknown
    Reflect.set(prototype, name, function (this: unknown, ...args: unknown[]) {
      pass()
      return Reflect.apply(statement, this, args)
    })
  }
}

const store = kind === 'postgres' ? postgresStore({ connectionString: place }) : sqliteStore({ path: place })
if (kind === 'sqlite statements') aroundStatements()
const journal =
  kind === 'sqlite statements' ? store.journal : aroundAppends(store.journal, kind === 'postgres')
await shop(journal, world).run('Sell it.', { runId: 'r' })
process.stdout.write(String(passed))
await store.close()
