import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { ResumeOptions, RunOptions } from '../agent.ts'
import { LoopchartError, MisuseError, messageOf } from '../errors.ts'
import { withinGrace } from '../grace.ts'
import type { AgentInput, RunInput } from '../machines/context.ts'
import type { Outcome } from '../machines/outcome.ts'
import { isSystem } from '../messages/invariants.ts'
import type { Message } from '../messages/types.ts'
import type { Run } from '../runtime/execute.ts'
import type { SessionRecord, SessionStore } from './sessionStore.ts'
import { Turnstile } from './turnstile.ts'

export interface SessionOptions {
  /**
   * What happens to a run that is asked for while another one of the session is under way in this process: it waits for
   * its turn, or is refused with the code `session_busy`. Default: `queue`.
   */
  readonly whenBusy?: 'queue' | 'refuse'
}

/** A conversation over many runs. */
export interface Session<Output = string> {
  readonly id: string
  /**
   * Goes on with the conversation. A run of the session that was interrupted, or waits for a person, is given up first:
   * its open calls are answered as cancelled, and what it did stays in the conversation.
   *
   * @param input What is new: a question, messages that end with one, or either with other limits for this run.
   * @returns How the run ended. Rejects with `session_busy`, with `session_conflict` where another process has gone on
   * with the session meanwhile, with `session_store_error`, and for a programmer's mistake.
   */
  run(input: AgentInput, options?: RunOptions): Promise<Outcome<Output>>
  /** As `run`, and shows what happens. */
  stream(input: AgentInput, options?: RunOptions): Run<Output>
  /**
   * Goes on with the run of the session that waits for a person or was interrupted; it needs the agent's journal.
   *
   * @returns How the run ended. Rejects with `no_open_run` where there is none.
   */
  resume(options?: ResumeOptions): Promise<Outcome<Output>>
  /** The conversation so far, as it was saved last. */
  messages(): Promise<readonly Message[]>
  /** Forgets the conversation, its summary and its facts. Waits for a run that is under way. */
  clear(): Promise<void>
  /**
   * Another session that begins with this conversation as it was saved last.
   *
   * @param id Default: a random UUID.
   * @returns The new session. Rejects with `session_exists` where there is one of that id.
   */
  fork(id?: string): Promise<Session<Output>>
}

/** What a session needs of its agent. */
export interface SessionAgent<Output> {
  readonly store: SessionStore
  /** Whether runs can be taken up again. */
  readonly hasJournal: boolean
  /** @throws MisuseError for an input that is none. */
  checkedInput(input: AgentInput): RunInput
  run(input: RunInput, options: RunOptions): Promise<Outcome<Output>>
  resume(runId: string, options: ResumeOptions): Promise<Outcome<Output>>
  /** A run that can be watched, and is carried out by `launch`. */
  watch(
    runId: string,
    launch: (
      run: (input: RunInput) => Promise<Outcome<Output>>,
      signal: AbortSignal,
    ) => Promise<Outcome<Output>>,
    options: RunOptions,
  ): Run<Output>
}

/** One for each session and store, whoever opens it: runs of a session are never interleaved. */
const turnstiles = new WeakMap<SessionStore, Map<string, Turnstile>>()

/** @throws MisuseError `invalid_session` for an id that is no text or empty, or an unknown `whenBusy`. */
export function openSession<Output>(
  agent: SessionAgent<Output>,
  id: string,
  { whenBusy = 'queue' }: SessionOptions = {},
): Session<Output> {
  if (typeof id !== 'string' || id === '') {
    throw new MisuseError(
      'invalid_session',
      `The id of a session must be a text that is not empty, not ${String(id)}.`,
    )
  }
  if (whenBusy !== 'queue' && whenBusy !== 'refuse') {
    throw new MisuseError(
      'invalid_session',
      `whenBusy must be "queue" or "refuse", not "${String(whenBusy)}".`,
    )
  }
  const { store } = agent

  return {
    id,
    async run(input, options = {}) {
      const added = agent.checkedInput(input)
      const { runId = randomUUID() } = options
      return turn(added, runId, options.signal, (complete) => agent.run(complete, { ...options, runId }))
    },
    stream(input, options = {}) {
      const added = agent.checkedInput(input)
      const { runId = randomUUID() } = options
      return agent.watch(runId, (run, signal) => turn(added, runId, signal, run), options)
    },
    resume(options = {}) {
      return alone(async () => {
        const record = await load(store, id)
        const { openRun } = record
        if (openRun === undefined) {
          throw new LoopchartError(
            'no_open_run',
            `The session "${id}" has no run that waits or was interrupted.`,
          )
        }
        return keep(record, openRun, await agent.resume(openRun, options).catch(neverBegan))
      })
    },
    async messages() {
      return (await load(store, id)).messages
    },
    clear() {
      return alone(async () => {
        const { revision, openRun } = await load(store, id)
        if (openRun !== undefined) await giveUp(openRun)
        await save(store, id, { version: 1, revision: revision + 1, messages: [] })
      })
    },
    async fork(forkId = randomUUID()) {
      const fork = openSession(agent, forkId, { whenBusy })
      const { messages, memory } = await load(store, id)
      const record: SessionRecord = {
        version: 1,
        revision: 1,
        messages,
        ...(memory === undefined ? {} : { memory }),
      }
      if (!(await attempt(forkId, () => store.save(forkId, record)))) {
        throw new LoopchartError('session_exists', `There is a session with the id "${forkId}" already.`)
      }
      return fork
    },
  }

  /** One run of the conversation, from what is saved to what is saved. */
  function turn(
    { messages: added, memory: _carried, ...settings }: RunInput,
    runId: string,
    signal: AbortSignal | undefined,
    run: (input: RunInput) => Promise<Outcome<Output>>,
  ): Promise<Outcome<Output>> {
    const newMessages = typeof added === 'string' ? [{ role: 'user', content: added } as const] : added
    return alone(
      async () => {
        const before = await withoutOpenRun(await load(store, id, signal))
        const messages = conversation(before.messages, newMessages)
        const begun: SessionRecord = { ...before, revision: before.revision + 1, messages, openRun: runId }
        await save(store, id, begun, { signal })
        const { memory } = before
        try {
          const outcome = await run({ ...settings, messages, ...(memory === undefined ? {} : { memory }) })
          return await keep(begun, runId, outcome, signal)
        } catch (thrown) {
          // A run that could not begin has left nothing behind.
          if (!(thrown instanceof SessionError))
            await save(store, id, { ...before, revision: begun.revision + 1 })
          throw thrown
        }
      },
      // Who is told to stop while it waits need not wait for its turn to say so.
      signal && { signal, instead: () => run({ ...settings, messages: newMessages }) },
    )
  }

  /** Saves what came of a run. */
  async function keep(
    record: SessionRecord,
    runId: string,
    outcome: Outcome<Output>,
    signal?: AbortSignal,
  ): Promise<Outcome<Output>> {
    // Who has taken the run up saves what comes of it.
    if (outcome.status === 'aborted' && outcome.error?.code === 'run_lost') return outcome
    const { openRun: _ended, ...rest } = record
    const kept: SessionRecord = {
      ...rest,
      revision: record.revision + 1,
      messages: [...record.messages.filter(isSystem), ...outcome.transcript],
      memory: outcome.memory,
      ...(isOpen(outcome) ? { openRun: runId } : {}),
    }
    await save(store, id, kept, { outcome, signal })
    return outcome
  }

  /** The record with what an interrupted run had come to. The run itself is over. */
  async function withoutOpenRun(record: SessionRecord): Promise<SessionRecord> {
    const { openRun, ...settled } = record
    if (openRun === undefined) return record
    const outcome = await giveUp(openRun)
    if (outcome === undefined) return settled
    return {
      ...settled,
      messages: [...record.messages.filter(isSystem), ...outcome.transcript],
      memory: outcome.memory,
    }
  }

  async function giveUp(runId: string): Promise<Outcome<Output> | undefined> {
    if (!agent.hasJournal) return undefined
    try {
      return await agent.resume(runId, {
        signal: AbortSignal.abort('The conversation went on without this run.'),
      })
    } catch (thrown) {
      if (thrown instanceof LoopchartError && thrown.code === 'run_active') throw busy()
      // It never began, or cannot be read by this agent: the conversation goes on from what was saved.
      if (thrown instanceof LoopchartError && UNREADABLE.has(thrown.code)) return undefined
      throw thrown
    }
  }

  /** Does something while nobody else in this process does anything with the session. */
  async function alone<Result>(
    act: () => Promise<Result>,
    whileWaiting?: { readonly signal: AbortSignal; readonly instead: () => Promise<Result> },
  ): Promise<Result> {
    const turnstile = turnstileOf(store, id)
    const around = inside.getStore() ?? []
    if (around.includes(turnstile)) throw fromInside()
    const pass = async (): Promise<() => void> => {
      const leave = await turnstile.enter()
      return () => {
        leave()
        if (!turnstile.isBusy) turnstiles.get(store)?.delete(id)
      }
    }
    if (turnstile.isBusy && whenBusy === 'refuse') throw busy()
    const entered = pass()
    const leaveOnTurn = (): void => void entered.then((leave) => leave())
    if (whileWaiting !== undefined && (await isAbortedFirst(whileWaiting.signal, entered))) {
      leaveOnTurn()
      return whileWaiting.instead()
    }
    const leave = await entered
    try {
      return await inside.run([...around, turnstile], act)
    } finally {
      leave()
    }
  }

  function neverBegan(thrown: unknown): never {
    if (!(thrown instanceof LoopchartError && thrown.code === 'run_not_found')) throw thrown
    throw new LoopchartError(
      'no_open_run',
      `The open run of the session "${id}" never began: nothing of it was recorded.`,
    )
  }

  function fromInside(): LoopchartError {
    return new LoopchartError(
      'session_busy',
      `This was asked of the session "${id}" from inside one of its own runs, and would wait for that run to end. Do it ` +
        'after the run, or in another session, such as a fork.',
    )
  }

  function busy(): LoopchartError {
    return new LoopchartError(
      'session_busy',
      `A run of the session "${id}" is under way. Await it, or open the session with whenBusy: "queue".`,
    )
  }
}

/** The sessions inside which the caller is: a run that waits for itself would wait for ever. */
const inside = new AsyncLocalStorage<readonly Turnstile[]>()

/** Whether a run can still go on: it was stopped at what its journal tells of it. */
function isOpen(outcome: Outcome<unknown>): boolean {
  if (outcome.status !== 'aborted') return outcome.status === 'waiting'
  return outcome.reason === 'interrupted' || outcome.reason === 'journal_error'
}

const UNREADABLE = new Set(['run_not_found', 'journal_mismatch', 'journal_invalid'])

/** A session that could not be read or saved. */
export class SessionError<Output = unknown> extends LoopchartError {
  /** How the run ended whose end could not be saved, where one did. */
  readonly outcome: Outcome<Output> | undefined

  constructor(
    code: 'session_conflict' | 'session_store_error',
    message: string,
    options: SessionErrorOptions<Output>,
  ) {
    super(code, message, options)
    this.outcome = options.outcome
  }
}

interface SessionErrorOptions<Output> {
  readonly cause?: unknown
  readonly outcome?: Outcome<Output> | undefined
}

/** What was said with what is new. System text that is new takes the place of what there was: there is one of it. */
function conversation(before: readonly Message[], added: readonly Message[]): readonly Message[] {
  const system = added.some(isSystem) ? added.filter(isSystem) : before.filter(isSystem)
  return [...system, ...[...before, ...added].filter((message) => !isSystem(message))]
}

async function load(store: SessionStore, id: string, signal?: AbortSignal): Promise<SessionRecord> {
  const record = await attempt(id, () => store.load(id), { signal })
  if (record === undefined || record === null) return { version: 1, revision: 0, messages: [] }
  if (record.version === 1 && Array.isArray(record.messages)) return withoutEmptyFields(record)
  throw new SessionError(
    'session_store_error',
    `The record of session "${id}" is not one that this Loopchart reads: expected version 1 with messages.`,
    {},
  )
}

/** A database keeps what is absent as `null`. */
function withoutEmptyFields(record: SessionRecord): SessionRecord {
  const { memory, openRun, ...rest } = record
  return { ...rest, ...(memory == null ? {} : { memory }), ...(openRun == null ? {} : { openRun }) }
}

async function save<Output>(
  store: SessionStore,
  id: string,
  record: SessionRecord,
  asked: Asked<Output> = {},
): Promise<void> {
  const { outcome } = asked
  const isSaved: unknown = await attempt(id, () => store.save(id, record), asked)
  if (isSaved === true) return
  if (isSaved !== false) {
    const message = `The store of session "${id}" gave back ${String(isSaved)}; save must say with true or false whether it saved.`
    throw new SessionError('session_store_error', message, { outcome })
  }
  throw new SessionError(
    'session_conflict',
    `The session "${id}" was changed by somebody else meanwhile, perhaps another process; what this run came to is ` +
      'not saved in it. Run again from what it is now, or let one process at a time work on a session.',
    { outcome },
  )
}

/** What a store is asked for. */
interface Asked<Output> {
  /** Who is told to stop waits for a store no longer than its grace. */
  readonly signal?: AbortSignal | undefined
  /** How the run ended that is to be saved. */
  readonly outcome?: Outcome<Output> | undefined
}

async function attempt<Result, Output>(
  id: string,
  act: () => Result | Promise<Result>,
  { signal, outcome }: Asked<Output> = {},
): Promise<Result> {
  try {
    return await withinGrace(act(), signal)
  } catch (cause) {
    const message = `The store of session "${id}" failed: ${messageOf(cause)}`
    throw new SessionError('session_store_error', message, { cause, outcome })
  }
}

function turnstileOf(store: SessionStore, id: string): Turnstile {
  const ofStore = turnstiles.get(store) ?? new Map<string, Turnstile>()
  turnstiles.set(store, ofStore)
  const turnstile = ofStore.get(id) ?? new Turnstile()
  ofStore.set(id, turnstile)
  return turnstile
}

/** Whether a signal is aborted before somebody's turn comes. */
async function isAbortedFirst(signal: AbortSignal, turn: Promise<unknown>): Promise<boolean> {
  const aborted = Promise.withResolvers<boolean>()
  const abort = (): void => aborted.resolve(true)
  signal.addEventListener('abort', abort, { once: true })
  try {
    // A turn that has come already goes first: the run itself then says that it was stopped.
    return await Promise.race([
      turn.then(() => false),
      signal.aborted ? Promise.resolve(true) : aborted.promise,
    ])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
