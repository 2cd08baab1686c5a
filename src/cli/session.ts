import { type Agent, createAgent, type ForkOptions, type RunOptions } from '../agent.ts'
import type { Inspector } from '../inspect/index.ts'
import type { Journal } from '../journal/entry.ts'
import type { Aborted, Outcome } from '../machines/outcome.ts'
import type { Message } from '../messages/types.ts'
import { exampleTools } from '../offline/exampleTools.ts'
import { adviceFor } from './advice.ts'
import type { AskOptions, InspectorPlace } from './arguments.ts'
import type { Connection } from './connection.ts'
import { type Output, TerminalView } from './terminalView.ts'

const INSTRUCTIONS =
  'You answer questions briefly, in the language of the question. Use the tools for weather, arithmetic, time and ' +
  'units, several at once where they do not depend on each other. Do not repeat a call that failed unchanged.'

/** What is said of a run that cannot go on. */
export const OVER = 'The run has ended already; this is how. loopchart fork goes on from one of its steps.'

/** Names the runs of the command in a journal that other programs use as well. */
export const AGENT_NAME = 'loopchart command line'

export const EXIT = { done: 0, aborted: 1, misuse: 2, interrupted: 130 } as const

export interface Streams {
  readonly stdout: Output
  readonly stderr: Output
}

/** How a fork differs from its run. */
export type Fork = Pick<ForkOptions, 'at' | 'reply' | 'results'>

/** A conversation in the terminal. Each question goes on from the ones before. */
export class Session {
  readonly #agent: Agent
  readonly #connection: Connection
  readonly #options: AskOptions
  readonly #streams: Streams
  readonly #view: TerminalView
  #messages: readonly Message[] = []

  /** @param journal Keeps the runs; nothing is kept without one. */
  constructor(connection: Connection, options: AskOptions, streams: Streams, journal?: Journal) {
    this.#connection = connection
    this.#options = options
    this.#streams = streams
    this.#view = new TerminalView(streams.stderr, streams.stdout)
    this.#agent = createAgent({
      name: AGENT_NAME,
      ...(journal === undefined ? {} : { journal }),
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

  /** A line that is no part of the answer. */
  say(text: string): void {
    this.#view.note(text)
  }

  /** Asks, shows what happens, and says with which code the command should end. */
  ask(question: string, signal: AbortSignal): Promise<number> {
    const messages: readonly Message[] = [...this.#messages, { role: 'user', content: question }]
    return this.#follow(signal, (options) => this.#agent.run(messages, options))
  }

  /** Goes on with a run that is kept. */
  resume(runId: string, migrate: boolean, signal: AbortSignal): Promise<number> {
    return this.#follow(signal, (options) => this.#agent.resume(runId, { ...options, migrate }))
  }

  /** Begins a run that shares the first steps of one that is kept. */
  fork(runId: string, fork: Fork, signal: AbortSignal): Promise<number> {
    const { steps } = this.#options
    const limits = steps === undefined ? {} : { limits: { steps } }
    return this.#follow(signal, (options) => this.#agent.fork(runId, { ...fork, ...limits, ...options }))
  }

  async #follow(
    signal: AbortSignal,
    start: (options: Pick<RunOptions, 'signal' | 'onEvent'>) => Promise<Outcome>,
  ): Promise<number> {
    const { json, verbose, journal } = this.#options
    const outcome = await start({
      signal,
      onEvent: (event) => {
        if (!json) this.#view.show(event)
        // What was sent repeats the transcript at each step.
        else if (event.type !== 'model.requested' || verbose)
          this.#streams.stdout.write(`${JSON.stringify(event)}\n`)
      },
    })
    this.#messages = outcome.transcript
    if (outcome.status === 'aborted' && !signal.aborted) this.#explain(outcome)
    if (journal !== undefined) this.#view.note(`kept as ${outcome.runId} in ${journal}`)
    return exitCode(outcome, signal)
  }

  /** Shows the runs in the browser from now on. Keeps the process alive until it is closed. */
  async inspect({ port, open }: InspectorPlace): Promise<Inspector> {
    const { inspect } = await import('../inspect/index.ts')
    // Whoever gives the option has asked for it, wherever that is.
    const inspector = await inspect({ agent: this.#agent, port, open, keepAlive: true, production: true })
    this.#view.note(`inspector: ${inspector.url}`, 'cyan')
    return inspector
  }

  /** Says something beside the answer. */
  note(text: string): void {
    this.#view.note(text)
  }

  /** Waits for what is still to be said to the journal. */
  async close(): Promise<void> {
    await this.#agent.close()
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
