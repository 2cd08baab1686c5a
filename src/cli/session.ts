import { type Agent, createAgent } from '../agent.ts'
import type { Aborted, Outcome } from '../machines/outcome.ts'
import type { Message } from '../messages/types.ts'
import { exampleTools } from '../offline/exampleTools.ts'
import { adviceFor } from './advice.ts'
import type { AskOptions } from './arguments.ts'
import type { Connection } from './connection.ts'
import { type Output, TerminalView } from './terminalView.ts'

const INSTRUCTIONS =
  'You answer questions briefly, in the language of the question. Use the tools for weather, arithmetic, time and ' +
  'units, several at once where they do not depend on each other. Do not repeat a call that failed unchanged.'

export const EXIT = { done: 0, aborted: 1, misuse: 2, interrupted: 130 } as const

export interface Streams {
  readonly stdout: Output
  readonly stderr: Output
}

/** A conversation in the terminal. Each question goes on from the ones before. */
export class Session {
  readonly #agent: Agent
  readonly #connection: Connection
  readonly #options: AskOptions
  readonly #streams: Streams
  readonly #view: TerminalView
  #messages: readonly Message[] = []

  constructor(connection: Connection, options: AskOptions, streams: Streams) {
    this.#connection = connection
    this.#options = options
    this.#streams = streams
    this.#view = new TerminalView(streams.stderr, streams.stdout)
    this.#agent = createAgent({
      model: connection.model,
      tools: exampleTools,
      instructions: INSTRUCTIONS,
      ...(options.steps === undefined ? {} : { limits: { steps: options.steps } }),
    })
  }

  greet(version: string): void {
    this.#view.note(`loopchart ${version} · ${this.#connection.address}`)
    if (this.#connection.notice !== undefined) this.#view.note(this.#connection.notice, 'yellow')
  }

  /** Asks, shows what happens, and says with which code the command should end. */
  async ask(question: string, signal: AbortSignal): Promise<number> {
    const { json } = this.#options
    const run = this.#agent.stream([...this.#messages, { role: 'user', content: question }], { signal })
    for await (const event of run) {
      if (json) this.#streams.stdout.write(`${JSON.stringify(event)}\n`)
      else this.#view.show(event)
    }
    const outcome = await run.outcome
    this.#messages = outcome.transcript
    if (outcome.status === 'aborted' && !signal.aborted) this.#explain(outcome)
    return exitCode(outcome, signal)
  }

  #explain(outcome: Aborted): void {
    this.#view.note(adviceFor(outcome, this.#connection.address), 'red')
    if (!this.#options.verbose) return
    const error = this.#connection.lastError()
    if (error instanceof Error) this.#view.note(stackOf(error))
  }
}

/** A stack with those of its causes. */
function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stackOf(error.cause)}` : ''
  return `${error.stack ?? error.message}${cause}`
}

function exitCode({ status }: Outcome, signal: AbortSignal): number {
  if (status === 'done') return EXIT.done
  return signal.aborted ? EXIT.interrupted : EXIT.aborted
}
