import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Journal, type JournalEntry, memoryJournal, type Outcome } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres/index.ts'
import { sqliteStore } from '../../src/sqlite/index.ts'
import { expectDone, expectSendable, rejectionOf } from '../support/outcome.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { shop, type World } from './shop.ts'
import type { StoreKind } from './shopProcess.ts'

const shopProcess = fileURLToPath(new URL('shopProcess.ts', import.meta.url))

const places = ['tool.1.0', 'tool.1.1', 'tool.2.0', 'tool.3.0']
const idempotent = new Set(['tool.2.0'])

let folder: string
let server: Server
let postgres: PostgresServer
let admin: pg.Pool
/** Requests by what follows the server's address: `/3/charge r/tool.1.1`. */
const requests = new Map<string, number>()

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'loopchart-kill-'))
  server = createServer((request, response) => {
    const name = `${request.url} ${request.headers['idempotency-key']}`
    requests.set(name, (requests.get(name) ?? 0) + 1)
    response.end('done')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  postgres = await startPostgres()
  admin = new pg.Pool(postgres)
  admin.on('error', () => {})
}, 60_000)

afterAll(async () => {
  await admin?.end()
  await postgres?.stop()
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  rmSync(folder, { recursive: true, force: true })
})

/** A world of its own for each name. */
function worldOf(name: string): World {
  return {
    ledger: join(folder, `${name}.ledger`),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`,
  }
}

/** How often the world saw the effect of a call. */
function timesDone(name: string, place: string): number {
  const key = `r/${place}`
  const { ledger } = worldOf(name)
  const lines = existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n') : []
  const entered = lines.filter((line) => line === key).length
  return entered + (requests.get(`/${name}/charge ${key}`) ?? 0) + (requests.get(`/${name}/book ${key}`) ?? 0)
}

/** The share of the boundaries that come after the first entry: before it, a store takes a lease, or makes its tables. */
const BEGUN = 0.8

/** Never reached. */
const NO_BOUNDARY = -1

/** Runs the shop in a process that is killed at a boundary. Gives back the signal that ended it, or what it printed. */
async function runKilledAt(boundary: number, name: string, kept: Kept): Promise<string> {
  const settings = JSON.stringify({ ...worldOf(name), store: kept.kind, place: kept.place, boundary })
  // The first process leaves its compiled modules to the others, which then start in a third of the time.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled') }
  const child = spawn(process.execPath, ['--no-warnings', shopProcess, settings], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  })
  const [printed, [, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return signal ?? printed
}

/** Where the journal of one run is. */
interface Kept {
  readonly kind: StoreKind
  readonly place: string
  open(): { readonly journal: Journal; close(): void | Promise<void> }
}

async function keptIn(kind: StoreKind, name: string): Promise<Kept> {
  if (kind === 'postgres') {
    await admin.query(`CREATE DATABASE ${name}`)
    const place = postgres.connectionString.replace(/\/postgres$/, `/${name}`)
    return { kind, place, open: () => postgresStore({ connectionString: place }) }
  }
  const place = join(folder, `${name}.db`)
  return { kind, place, open: () => sqliteStore({ path: place }) }
}

/** A server may still be at work on what a process has asked for that is dead. */
async function allIsQuiet({ kind, place }: Kept): Promise<void> {
  if (kind !== 'postgres') return
  const sessions = 'SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = $1'
  const count = async (): Promise<unknown> =>
    (await admin.query(sessions, [place.split('/').at(-1)])).rows[0]?.n
  await expect.poll(count).toBe(0)
}

/** Calls whose intent is in a journal and whose result is not. */
function inDoubt(entries: readonly JournalEntry[]): ReadonlySet<string> {
  const open = new Set<string>()
  for (const entry of entries) {
    if (entry.type === 'intent') open.add(entry.place)
    if (entry.type === 'event' && 'place' in entry.event) open.delete(entry.event.place)
  }
  return open
}

function resultOf({ transcript }: Outcome, place: string): unknown {
  return transcript.find((message) => message.role === 'tool' && message.tool_call_id === place)?.content
}

describe('a run that is killed', () => {
  it.each<[string, StoreKind, number]>([
    ['before or after it wrote to SQLite', 'sqlite', 20],
    ['at any statement of its writing to SQLite', 'sqlite statements', 50],
    ['before, while or after it wrote to Postgres', 'postgres', 30],
  ])(
    '%s is finished by another process: nothing is lost, nothing done twice',
    {
      timeout: 300_000,
    },
    async (_when, kind, least) => {
      const prefix = kind.replace(' ', '_')
      const whole = expectDone(
        await shop(memoryJournal(), worldOf(`${prefix}_whole`)).run('Sell it.', { runId: 'r' }),
      )
      for (const place of places) expect(timesDone(`${prefix}_whole`, place), place).toBe(1)
      const alive = `${prefix}_alive`
      const boundaries = Number(await runKilledAt(NO_BOUNDARY, alive, await keptIn(kind, alive)))
      expect(boundaries).toBeGreaterThan(least)

      const seen = { begun: 0, inDoubt: 0, doneInDoubt: 0, again: 0 }
      const finish = async (boundary: number): Promise<void> => {
        const name = `${prefix}_${boundary}`
        const at = (place = ''): string => `killed at boundary ${boundary} ${place}`
        const kept = await keptIn(kind, name)
        expect(await runKilledAt(boundary, name, kept), at()).toBe('SIGKILL')
        await allIsQuiet(kept)

        const store = kept.open()
        const left = await store.journal.load('r')
        if (left === undefined) {
          expect(await rejectionOf(shop(store.journal, worldOf(name)).resume('r'))).toMatchObject({
            code: 'run_not_found',
          })
          for (const place of places) expect(timesDone(name, place), at(place)).toBe(0)
        } else {
          seen.begun++
          const doubtful = inDoubt(left)
          const outcome = expectDone(await shop(store.journal, worldOf(name)).resume('r'))
          expect(outcome.output, at()).toBe(whole.status === 'done' && whole.output)
          expect(outcome.steps, at()).toBe(whole.steps)
          expectSendable(outcome)
          for (const place of places) {
            const times = timesDone(name, place)
            const isReported = doubtful.has(place) && !idempotent.has(place)
            if (isReported) {
              seen.inDoubt++
              seen.doneInDoubt += times
              expect(times, at(place)).toBeLessThanOrEqual(1)
              expect(resultOf(outcome, place), at(place)).toContain('Error (in_doubt)')
            } else {
              if (doubtful.has(place)) seen.again += times - 1
              else expect(times, at(place)).toBe(1)
              expect(resultOf(outcome, place), at(place)).toBe(resultOf(whole, place))
            }
          }
          const after = (await store.journal.load('r')) ?? []
          expect(after.slice(0, left.length), at()).toEqual(left)
          expect(
            after.filter(({ type }) => type === 'ended'),
            at(),
          ).toHaveLength(1)
          // Once more changes nothing.
          const again = expectDone(await shop(store.journal, worldOf(name)).resume('r'))
          expect(again.transcript, at()).toEqual(outcome.transcript)
          expect(await store.journal.load('r'), at()).toEqual(after)
        }
        await store.close()
      }
      await pooled(2, boundaries, finish)
      expect(seen.begun).toBeGreaterThan(boundaries * BEGUN)
      // The kills were where they hurt: before and after the effect of a call that did not report.
      expect(seen.doneInDoubt).toBeGreaterThan(0)
      expect(seen.inDoubt).toBeGreaterThan(seen.doneInDoubt)
      expect(seen.again).toBeGreaterThan(0)
    },
  )
})

/** Does something for each number below a bound, so many at once. Fails once none of them is under way any more. */
async function pooled(places: number, bound: number, act: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < bound) await act(next++)
  }
  const workers = await Promise.allSettled(Array.from({ length: places }, worker))
  for (const result of workers) if (result.status === 'rejected') throw result.reason
}
