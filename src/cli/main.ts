#!/usr/bin/env node
import { text } from 'node:stream/consumers'
import { MisuseError, messageOf } from '../errors.ts'
import { agentDiagram } from '../graph/index.ts'
import { VERSION } from '../version.ts'
import { type AskOptions, missingQuestion, parseCommand, USAGE } from './arguments.ts'
import { chat } from './chat.ts'
import { connect } from './connection.ts'
import { printableLine } from './printable.ts'
import { EXIT, Session } from './session.ts'

const { stdin, stdout, stderr, argv, env } = process

// A reader that leaves early (`loopchart … | head`) is no error.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? EXIT.done : EXIT.aborted)
})

// Without a reader of the progress, the answer is still wanted.
stderr.on('error', () => {})

process.exitCode = await main().catch((error: unknown) => {
  stderr.write(`loopchart: ${printableLine(messageOf(error))}\n`)
  if (!(error instanceof MisuseError) || argv.includes('--verbose')) stderr.write(`${stackOf(error)}\n`)
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
      stdout.write(`${agentDiagram()}\n`)
      return EXIT.done
    case 'ask':
      return ask(command, command.question)
    case 'chat':
      if (stdin.isTTY && command.json) throw missingQuestion()
      if (stdin.isTTY) return openChat(command)
      return ask(command, await questionFromInput())
  }
}

async function ask(options: AskOptions, question: string): Promise<number> {
  const connection = await connect(options, env)
  const interruption = interruptible()
  try {
    const session = new Session(connection, options, { stdout, stderr })
    session.greet(VERSION)
    return await session.ask(question, interruption.signal)
  } finally {
    interruption.dispose()
    await connection.close()
  }
}

async function openChat(options: AskOptions): Promise<number> {
  const connection = await connect(options, env)
  try {
    const session = new Session(connection, options, { stdout, stderr })
    session.greet(VERSION)
    await chat(session, stdin, stdout)
    return EXIT.done
  } finally {
    await connection.close()
  }
}

async function questionFromInput(): Promise<string> {
  const question = (await text(stdin)).trim()
  if (question === '') throw missingQuestion()
  return question
}

/** The first Ctrl-C (or a polite kill) aborts the run cleanly; the second one is left to the system. */
function interruptible(): { readonly signal: AbortSignal; dispose(): void } {
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
  return { signal: controller.signal, dispose }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? '') : ''
}
