import { existsSync } from 'node:fs'
import { MisuseError } from '../errors.ts'
import type { Journal, JournalEntry, RunSummary } from '../journal/entry.ts'
import type { SqliteStore } from '../sqlite/index.ts'

/** Opens the file that is to keep runs; it is made where there is none. */
export async function openStore(path: string): Promise<SqliteStore> {
  // Loaded where it is needed: on the oldest Node it announces itself as experimental.
  const { sqliteStore } = await withoutWarning(() => import('../sqlite/index.ts'))
  return sqliteStore({ path })
}

/** @throws MisuseError `usage` where there is no such file. */
export async function openExistingStore(path: string): Promise<SqliteStore> {
  if (existsSync(path)) return openStore(path)
  throw new MisuseError(
    'usage',
    `There is no journal at ${path}. Keep one with: loopchart --journal ${path} "question"`,
  )
}

/** A run that is kept. */
export interface KeptRun {
  readonly runId: string
  readonly entries: readonly JournalEntry[]
}

/**
 * @param start The id of a run, or the beginning of one.
 * @throws MisuseError `usage` where there is none, or more than one.
 */
export async function findRun(journal: Journal, start: string): Promise<KeptRun> {
  const entries = await journal.load(start)
  if (entries !== undefined) return { runId: start, entries }
  const found: string[] = []
  for await (const { runId } of allRuns(journal)) if (runId.startsWith(start)) found.push(runId)
  const [runId, ...others] = found
  if (runId === undefined) {
    throw new MisuseError(
      'usage',
      `There is no run "${start}" in the journal. See loopchart runs; put a question in quotes.`,
    )
  }
  if (others.length > 0) {
    throw new MisuseError('usage', `"${start}" is the beginning of several runs: ${found.join(', ')}.`)
  }
  return { runId, entries: (await journal.load(runId)) ?? [] }
}

async function* allRuns(journal: Journal): AsyncGenerator<RunSummary> {
  let before: RunSummary | undefined
  do {
    const page = await journal.list({ before })
    yield* page
    before = page.at(-1)
  } while (before !== undefined)
}

/** Node 22 warns whoever loads its SQLite. Users of a command can do nothing about that. */
async function withoutWarning<Module>(load: () => Promise<Module>): Promise<Module> {
  const emit = process.emitWarning
  process.emitWarning = (...args: unknown[]): void => {
    if (!/^SQLite is an experimental feature/.test(String(args[0]))) Reflect.apply(emit, process, args)
  }
  try {
    return await load()
  } finally {
    process.emitWarning = emit
  }
}
