import { randomUUID } from 'node:crypto'
import type { ActiveRun, ForkOptions, ResumeOptions } from '../agent.ts'
import { LoopchartError, MisuseError } from '../errors.ts'
import type { JournalEntry } from '../journal/entry.ts'
import type { Decision } from '../machines/reducers.ts'
import type { UserMessage } from '../messages/types.ts'
import type { AgentEvent } from '../runtime/events.ts'
import type { Hub } from './hub.ts'
import type { AnyAgent } from './liveRun.ts'
import type { ForkRequest } from './protocol.ts'

/** A person is there who can be asked, and nobody else's run is taken away. */
const byPerson: Pick<ResumeOptions, 'inDoubt' | 'takeOver'> = { inDoubt: 'ask', takeOver: false }

/** What a person does to runs. What begins or goes on by it does so in the background, and is watched like any other. */
export class Acts {
  readonly #hub: Hub

  constructor(hub: Hub) {
    this.#hub = hub
  }

  /** Resolves once the decisions were taken up; rejects as `agent.resume` does where they cannot be. */
  async decide(runId: string, decisions: readonly Decision[]): Promise<void> {
    const agent = await this.#agentOf(runId)
    await this.#requireOpen(runId)
    await this.#requireSeen(agent, runId, decisions)
    await begun((onEvent) => agent.resume(runId, { ...byPerson, decisions, onEvent }))
  }

  async resume(runId: string): Promise<void> {
    const agent = await this.#agentOf(runId)
    await this.#requireOpen(runId)
    await begun((onEvent) => agent.resume(runId, { ...byPerson, onEvent }))
  }

  /** Who decides on a run that has ended meanwhile has to know that nothing came of it. */
  async #requireOpen(runId: string): Promise<void> {
    const row = await this.#hub.row(runId)
    const canGoOn =
      row?.status !== 'aborted' || row.reason === 'interrupted' || row.reason === 'journal_error'
    if (row?.status === 'done' || !canGoOn) {
      throw new LoopchartError('run_ended', `The run "${runId}" has ended, so nothing can be decided in it.`)
    }
  }

  /** Arguments that were made of what redact has left of them would be carried out with its masks. */
  async #requireSeen(agent: AnyAgent, runId: string, decisions: readonly Decision[]): Promise<void> {
    if (!decisions.some((decision) => decision?.arguments !== undefined)) return
    const { approvals = [] } = (await this.#hub.row(runId)) ?? {}
    const { entries } = await agent.replay(runId)
    const asked = entries.flatMap(({ messages }) =>
      messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : [])),
    )
    for (const { callId, arguments: edited } of decisions) {
      const shown = approvals.find((approval) => approval.callId === callId)?.arguments
      const real = asked.find(({ id }) => id === callId)?.function.arguments
      if (edited === undefined || shown === real) continue
      throw new LoopchartError(
        'redacted_arguments',
        `The arguments of call "${callId}" are not shown as they are, so they cannot be changed here. Approve or reject the call.`,
      )
    }
  }

  /** Resolves once the message is part of the run. */
  async send(runId: string, message: string | UserMessage): Promise<void> {
    const run = this.#active(runId)
    if (run === undefined) throw notActive(runId)
    await run.send(message)
  }

  /** A run that waits for a person is ended, too. */
  async cancel(runId: string, message: string | undefined): Promise<void> {
    const run = this.#active(runId)
    if (run !== undefined) {
      run.abort(message)
      return
    }
    const row = await this.#hub.row(runId)
    if (row === undefined) throw notFound(runId)
    if (row.status === 'done' || row.status === 'aborted') throw notActive(runId)
    const agent = await this.#agentOf(runId)
    const signal = AbortSignal.abort(message)
    await agent.resume(runId, { signal, takeOver: false })
  }

  /** @returns The id of the fork, which has begun. */
  async fork(runId: string, { at, reply, results, steps }: ForkRequest): Promise<string> {
    const agent = await this.#agentOf(runId)
    const forkId = randomUUID()
    const options: ForkOptions = {
      at,
      ...(reply === undefined ? {} : { reply }),
      ...(results === undefined ? {} : { results }),
      ...(steps === undefined ? {} : { limits: { steps } }),
      runId: forkId,
    }
    await begun((onEvent) => agent.fork(runId, { ...options, onEvent }))
    return forkId
  }

  #active(runId: string): ActiveRun | undefined {
    for (const agent of this.#hub.agents) {
      const run = agent.activeRuns().find((active) => active.runId === runId)
      if (run !== undefined) return run
    }
    return undefined
  }

  /** The agent that a run is one of. */
  async #agentOf(runId: string): Promise<AnyAgent> {
    const live = this.#hub.liveRun(runId)?.agent
    if (live !== undefined) return requireKept(live, runId)
    const entries = await this.#hub.stored.load(runId)
    if (entries === undefined) throw notFound(runId)
    return requireKept(this.#agentFor(runId, entries), runId)
  }

  #agentFor(runId: string, entries: readonly JournalEntry[]): AnyAgent {
    const agent = this.#hub.stored.agentOf(entries)
    if (agent !== undefined) return agent
    throw new LoopchartError(
      'other_agent',
      `The run "${runId}" is one of another agent than the inspector has, and only that one can go on with it.`,
    )
  }
}

/** Begins a run, and resolves with its first event; rejects where it cannot begin. */
async function begun(begin: (onEvent: (event: AgentEvent) => void) => Promise<unknown>): Promise<void> {
  const first = Promise.withResolvers<void>()
  begin(() => first.resolve()).then(() => first.resolve(), first.reject)
  await first.promise
}

function requireKept(agent: AnyAgent, runId: string): AnyAgent {
  if (agent.options.journal !== undefined) return agent
  throw new MisuseError(
    'no_journal',
    `The run "${runId}" is kept in no journal, so it cannot go on: give its agent one, createAgent({ journal }).`,
  )
}

function notFound(runId: string): LoopchartError {
  return new LoopchartError('run_not_found', `There is no run with the id "${runId}".`)
}

function notActive(runId: string): LoopchartError {
  return new LoopchartError('run_not_active', `The run "${runId}" is not under way in this process.`)
}
