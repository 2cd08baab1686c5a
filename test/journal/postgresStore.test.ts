import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createAgent, type JournalEntry } from '../../src/index.ts'
import { type PostgresQuery, type PostgresStore, postgresStore } from '../../src/postgres/index.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { expectAborted, expectDone } from '../support/outcome.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { countingAdd } from '../support/tools.ts'
import { storeBehaves } from './storeBehaves.ts'

let server: PostgresServer
/** To look, and to meddle, behind the back of the stores. */
let admin: pg.Pool

beforeAll(async () => {
  server = await startPostgres()
  admin = new pg.Pool(server)
  admin.on('error', () => {})
}, 60_000)
afterAll(async () => {
  await admin?.end()
  await server?.stop()
})

/** The address of an empty database. */
async function emptyDatabase(name: string): Promise<string> {
  await admin.query(`CREATE DATABASE ${name}`)
  return server.connectionString.replace(/\/postgres$/, `/${name}`)
}

function opened(connectionString: string): PostgresStore {
  const store = postgresStore({ connectionString })
  onTestFinished(() => store.close())
  return store
}

async function poolOf(connectionString: string): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString })
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  return pool
}

const started: JournalEntry = { type: 'started', version: 1, at: 1, input: { messages: 'go' } }
const intent: JournalEntry = { type: 'intent', at: 2, place: 'tool.1.0' }
const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }

describe('in Postgres', () => {
  let store: PostgresStore

  beforeAll(() => {
    store = postgresStore(server)
  })
  afterAll(() => store.close())
  storeBehaves(() => store)
})

describe('the tables in Postgres', () => {
  it('are made once, however many processes begin at once', async () => {
    const connectionString = await emptyDatabase('many')
    const stores = Array.from({ length: 6 }, () => opened(connectionString))
    await Promise.all(stores.map(({ migrate }) => migrate()))
    await Promise.all(stores.map(({ journal }, i) => journal.append(`r${i}`, [started], 0)))
    expect(await stores[0]?.journal.list()).toHaveLength(6)
    const pool = await poolOf(connectionString)
    expect((await pool.query('SELECT version FROM loopchart_migrations')).rows).toEqual([{ version: 1 }])
  })

  it('can be used by a role that may not make any, once they are there', async () => {
    const connectionString = await emptyDatabase('rights')
    await admin.query('CREATE ROLE clerk LOGIN')
    const clerk = connectionString.replace('postgres@', 'clerk@')
    const early = opened(clerk)
    const agent = createAgent({ model: scriptedModel(['one', 'two']), journal: early.journal })
    expect(expectAborted(await agent.run('go')).message).toContain('permission denied')
    await opened(connectionString).migrate()
    const owner = await poolOf(connectionString)
    await owner.query('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk')
    expectDone(await agent.run('go'))
  })

  it('of a newer version are refused', async () => {
    const connectionString = await emptyDatabase('newer')
    await opened(connectionString).migrate()
    await (await poolOf(connectionString)).query('UPDATE loopchart_migrations SET version = 99')
    await expect(opened(connectionString).journal.load('r')).rejects.toMatchObject({
      code: 'store_too_new',
      message: expect.stringContaining('of version 99'),
    })
  })
})

describe('a journal in Postgres', () => {
  it('is written with one statement for each append', async () => {
    const pool = await poolOf(server.connectionString)
    await postgresStore({ pool }).migrate()
    const statements: string[] = []
    const watched = {
      query(query: PostgresQuery) {
        statements.push(query.text)
        return pool.query(query)
      },
      connect: () => pool.connect(),
      end: () => pool.end(),
    }
    const { journal } = postgresStore({ pool: watched })
    const model = scriptedModel([adding, 'ok'])
    expectDone(await createAgent({ model, tools: [countingAdd()], journal }).run('go', { runId: 'counted' }))
    const entries = await journal.load('counted')
    expect(statements.filter((text) => text.includes('INSERT INTO loopchart_entries'))).toHaveLength(
      entries?.length ?? 0,
    )
    const ofLeases = /^\s*(?:INSERT INTO|DELETE FROM) loopchart_leases/
    expect(statements.filter((text) => !ofLeases.test(text))).toHaveLength((entries?.length ?? 0) + 1)
  })

  it('leaves a pool that it was given to its owner', async () => {
    const pool = await poolOf(server.connectionString)
    const store = postgresStore({ pool })
    await store.journal.load('r')
    await store.close()
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  })

  it('whose entry was cut off says which, and serves the other runs', async () => {
    const { journal } = opened(server.connectionString)
    await journal.append('cut', [started, intent, intent], 0)
    await journal.append('whole', [started], 0)
    await admin.query(
      "UPDATE loopchart_entries SET entry = left(entry, 20) WHERE run_id = 'cut' AND position = 1",
    )
    const agent = createAgent({ model: scriptedModel(['ok']), journal })
    await expect(agent.resume('cut')).rejects.toMatchObject({
      code: 'journal_invalid',
      runId: 'cut',
      position: 1,
    })
    expectDone(await agent.resume('whole'))
    await admin.query("DELETE FROM loopchart_entries WHERE run_id = 'cut' AND position = 1")
    await expect(journal.load('cut')).rejects.toThrow('Entry 1 of run "cut" is missing; there should be 3.')
  })

  it('outlives connections that break while nobody uses them', async () => {
    const connectionString = await emptyDatabase('breaking')
    const { journal } = opened(connectionString)
    await journal.append('r', [started], 0)
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'breaking'")
    await expect.poll(() => journal.append('r', [intent], 1)).toBe(true)
  })

  it('that cannot be reached ends the run with a reason, and is tried again by the next', async () => {
    const pool = await poolOf(server.connectionString)
    let isDown = true
    const { journal } = postgresStore({
      pool: {
        query: (query) => pool.query(query),
        connect: () => (isDown ? Promise.reject(new Error('connect ECONNREFUSED')) : pool.connect()),
        end: () => pool.end(),
      },
    })
    const agent = createAgent({ model: scriptedModel(['ok']), journal })
    expect(expectAborted(await agent.run('go'))).toMatchObject({
      reason: 'journal_error',
      message: 'The journal failed: connect ECONNREFUSED',
    })
    isDown = false
    expectDone(await agent.run('go'))
  })

  it('needs a pool or an address', () => {
    expect(() => postgresStore({} as never)).toThrow(/needs a pool or a connectionString/)
    expect(() => postgresStore({ pool: {} as never })).toThrow(/must be a Pool of the package "pg"/)
  })
})
