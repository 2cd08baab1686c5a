#!/usr/bin/env node
import { text } from 'node:stream/consumers'
import { LoopchartError, MisuseError, messageOf } from '../errors.ts'
import { agentDiagram, agentDot, agentSvg } from '../graph/index.ts'
import type { SqliteStore } from '../sqlite/index.ts'
import { VERSION } from '../version.ts'
import {
  type AskOptions,
  type GoingOnCommand,
  type GraphFormat,
  type InspectCommand,
  type LookingCommand,
  missingQuestion,
  parseCommand,
  USAGE,
} from './arguments.ts'
import { chat } from './chat.ts'
import { connect } from './connection.ts'
import { look, requireOwn } from './journalCommands.ts'
import { printableLine } from './printable.ts'
import { AGENT_NAME, EXIT, type Fork, OVER, Session } from './session.ts'
import { findRun, openExistingStore, openStore } from './store.ts'

const { stdin, stdout, stderr, argv, env } = process

// A reader that leaves early (`loopchart … | head`) is no error.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.aborted)
})

// Without a reader of the progress, the answer is still wanted.
stderr.on('error', () => {})

process.exitCode = await main().catch((error: unknown) => {
  stderr.write(`loopchart: ${printableLine(messageOf(error))}\n`)
  if (!(error instanceof LoopchartError) || argv.includes('--verbose')) stderr.write(`${stackOf(error)}\n`)
  return error instanceof MisuseError ? EXIT.misuse : EXIT.aborted
})

async function main(): Promise<number> {
  const command = parseCommand(argv.slice(2))
  switch (command.name) {
    case 'help':
      stdout.write(`${USAGE}\n`)
      return EXIT.done
    case 'version':
      stdout.write(`${VERSION}\n`)
      return EXIT.done
    case 'graph':
      stdout.write(`${(await drawing(command.format)).trimEnd()}\n`)
      return EXIT.done
    case 'ask':
      return ask(command, command.question)
    case 'chat':
      if (stdin.isTTY && command.json) throw missingQuestion()
      if (stdin.isTTY) return openChat(command)
      return ask(command, await questionFromInput())
    case 'runs':
    case 'show':
    case 'replay':
    case 'diff':
      return lookAt(command)
    case 'inspect':
      return interruptibly((signal) => inspectFile(command, signal))
    case 'resume':
    case 'fork':
      return interruptibly((signal) => goOn(command, signal))
  }
}

async function drawing(format: GraphFormat): Promise<string> {
  const draw = { mermaid: agentDiagram, dot: agentDot, svg: agentSvg }[format]
  return draw()
}

function ask(options: AskOptions, question: string): Promise<number> {
  return interruptibly((signal) =>
    withSession(options, (session) => watched(session, options, signal, () => session.ask(question, signal))),
  )
}

function openChat(options: AskOptions): Promise<number> {
  return withSession(options, async (session) => {
    const inspector = options.inspect && (await session.inspect(options.inspect))
    await chat(session, stdin, stdout)
    await inspector?.close()
    return EXIT.done
  })
}

/** Where the options ask for the inspector, it is there before anything begins, and until Ctrl-C. */
async function watched(
  session: Session,
  { inspect: place }: AskOptions,
  signal: AbortSignal,
  act: () => Promise<number>,
): Promise<number> {
  if (place === undefined) return act()
  const inspector = await session.inspect(place)
  try {
    const code = await act()
    if (!signal.aborted) session.note('The inspector stays open. Ctrl-C ends it.')
    await aborted(signal)
    return code
  } finally {
    await inspector.close()
  }
}

/** Shows the runs of a file in the browser, and those that other processes write to it meanwhile. */
async function inspectFile(command: InspectCommand, signal: AbortSignal): Promise<number> {
  return withStore(await openExistingStore(command.journal), async ({ journal }) => {
    const { inspect } = await import('../inspect/index.ts')
    const inspector = await inspect({ journal, ...command.inspect, keepAlive: true, production: true })
    stdout.write(`${inspector.url}\n`)
    stderr.write(`The runs in ${printableLine(command.journal)}. Ctrl-C ends the inspector.\n`)
    await aborted(signal)
    await inspector.close()
    return EXIT.done
  })
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function goOn(command: GoingOnCommand, signal: AbortSignal): Promise<number> {
  return withStore(await openExistingStore(command.journal), async (store) => {
    const { runId, entries } = await findRun(store.journal, command.runId)
    requireOwn(runId, entries, AGENT_NAME)
    if (command.name === 'fork') {
      const fork: Act<Session> = (session) =>
        watched(session, command, signal, () => session.fork(runId, forkOf(command), signal))
      return inSession(command, store, fork)
    }
    const hasEnded = entries.at(-1)?.type === 'ended'
    const resume: Act<Session> = (session) =>
      watched(session, command, signal, () => session.resume(runId, command.migrate, signal))
    return inSession(command, store, resume, hasEnded ? OVER : undefined)
  })
}

async function lookAt(command: LookingCommand): Promise<number> {
  return withStore(await openExistingStore(command.journal), async ({ journal }) => {
    await look(command, journal, stdout)
    return EXIT.done
  })
}

/** A conversation that is kept where the options name a journal. */
async function withSession(options: AskOptions, act: Act<Session>): Promise<number> {
  if (options.journal === undefined) return inSession(options, undefined, act)
  return withStore(await openStore(options.journal), (store) => inSession(options, store, act))
}

type Act<Thing> = (thing: Thing) => Promise<number>

async function withStore(store: SqliteStore, act: Act<SqliteStore>): Promise<number> {
  try {
    return await act(store)
  } finally {
    store.close()
  }
}

async function inSession(
  options: AskOptions,
  store: SqliteStore | undefined,
  act: Act<Session>,
  greeting?: string,
): Promise<number> {
  const connection = await connect(options, env)
  const session = new Session(connection, options, { stdout, stderr }, store?.journal)
  try {
    if (greeting === undefined) session.greet(VERSION)
    else session.say(greeting)
    return await act(session)
  } finally {
    await session.close()
    await connection.close()
  }
}

async function questionFromInput(): Promise<string> {
  const question = (await text(stdin)).trim()
  if (question === '') throw missingQuestion()
  return question
}

/** The first Ctrl-C (or a polite kill) aborts the run cleanly; the second one is left to the system. */
async function interruptibly(act: Act<AbortSignal>): Promise<number> {
  const controller = new AbortController()
  const interrupt = (): void => {
    dispose()
    controller.abort()
  }
  const dispose = (): void => {
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
  }
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  try {
    return await act(controller.signal)
  } finally {
    dispose()
  }
}

function forkOf({ at, reply, results }: Extract<GoingOnCommand, { name: 'fork' }>): Fork {
  return {
    at,
    ...(reply === undefined ? {} : { reply }),
    ...(results === undefined ? {} : { results }),
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? '') : ''
}
