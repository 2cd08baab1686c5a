import { setImmediate as nextTurn } from 'node:timers/promises'
import { LoopchartError, messageOf } from '../errors.ts'
import type { Journal, JournalEntry, RunQuery, RunSummary } from '../journal/entry.ts'
import { recordedBy } from '../journal/fingerprint.ts'
import { summaryAfter } from '../journal/summary.ts'
import { outputFormat } from '../outputFormat.ts'
import type { AgentEvent } from '../runtime/events.ts'
import type { Redact } from '../runtime/notify.ts'
import { isThenable, within } from '../thenables.ts'
import { abridged, type KeptEvent, keepEvent } from './keptEvent.ts'
import { LeastRecent } from './leastRecent.ts'
import type { AnyAgent } from './liveRun.ts'
import { plainJson } from './plainJson.ts'
import type { RunRow } from './protocol.ts'
import { questionIn } from './question.ts'
import { redactedCopy } from './redactedCopy.ts'
import { requestsOf, requestsOfModel } from './requests.ts'
import { spentIn } from './spentIn.ts'
import { type ToldEvent, tellJournal } from './tellJournal.ts'

/** What a row tells of a run beside the summary of its journal. */
export type RowDetails = Pick<
  RunRow,
  'question' | 'agent' | 'tokens' | 'cost' | 'forkOf' | 'approvals' | 'problem'
> & {
  readonly startedAt?: number
}

/** A run as its journal tells it. */
export interface ToldRun {
  readonly events: readonly KeptEvent[]
  /** Entries in its journal. */
  readonly length: number
  /** Why it ends before the journal does. */
  readonly problem?: string
}

/** Rows whose details are remembered, and runs that are remembered as told; the greatest is about as large as its journal. */
const REMEMBERED_ROWS = 5000
const REMEMBERED_RUNS = 4

/** A request of no more messages of the conversation is shown whole, unless they are long. */
const FEW_MESSAGES = 200

/** Milliseconds for which a store is waited for: what is under way can be seen without it. */
const STORE_MS = 5000

/** Milliseconds for which a run is told before others get their turn. */
const TURN_MS = 10

export interface StoredRunsOptions {
  readonly journals: () => readonly Journal[]
  /** The agents whose runs they may be. */
  readonly agents: () => readonly AnyAgent[]
  readonly redact?: Redact | undefined
}

/** The runs that journals keep. Reads one journal at a time, and only of runs that somebody looks at. */
export class StoredRuns {
  readonly #options: StoredRunsOptions
  readonly #details = new LeastRecent<{ readonly length: number; readonly details: RowDetails }>(
    REMEMBERED_ROWS,
  )
  readonly #told = new LeastRecent<Promise<ToldRun | undefined>>(REMEMBERED_RUNS)

  constructor(options: StoredRunsOptions) {
    this.#options = options
  }

  /** Latest start first, over all journals. */
  async list(query: RunQuery): Promise<readonly RunSummary[]> {
    const journals = this.#options.journals()
    const lists = await Promise.all(
      journals.map((journal) => answerOf('list its runs', () => journal.list(query))),
    )
    if (lists.length === 1) return lists[0] ?? []
    return lists.flat().sort(byStart).slice(0, query.limit)
  }

  /** The entries of a run; `undefined` where no journal has it. */
  async load(runId: string): Promise<readonly JournalEntry[] | undefined> {
    for (const journal of this.#options.journals()) {
      const entries = await answerOf(`read the run "${runId}"`, () => journal.load(runId))
      if (entries !== undefined && entries !== null) return entries
    }
    return undefined
  }

  async row(summary: RunSummary): Promise<RunRow> {
    const { length: _length, ...facts } = summary
    return { ...facts, isLive: false, ...(await this.details(summary)) }
  }

  /** What is told of a run that no summary is known of. */
  async rowOf(runId: string): Promise<RunRow | undefined> {
    const entries = await this.load(runId)
    if (entries === undefined) return undefined
    return { ...summaryFacts(runId, entries), isLive: false, ...(await this.#detailsOf(runId, entries)) }
  }

  /** One run that cannot be read must not hide the others: it says what is wrong with it. */
  async details({ runId, length }: Pick<RunSummary, 'runId' | 'length'>): Promise<RowDetails> {
    const known = this.#details.get(runId)
    if (known?.length === length) return known.details
    const details = await this.#readDetails(runId)
    // A store that failed may answer the next time.
    if (details.problem === undefined) this.#details.set(runId, { length, details })
    return details
  }

  /** What is remembered of a run, which may have gone on meanwhile. */
  knownDetails(runId: string): RowDetails | undefined {
    return this.#details.get(runId)?.details
  }

  /** Looks again: the journal of the run has grown. */
  forget(runId: string): void {
    this.#told.delete(runId)
  }

  /** A run as its journal tells it; `undefined` where there is none. The same until it is forgotten. */
  async told(runId: string): Promise<ToldRun | undefined> {
    const known = this.#told.get(runId)
    if (known !== undefined) return known
    const telling = this.#tell(runId)
    this.#told.set(runId, telling)
    const forgetWhereUnread = (run?: ToldRun): void => {
      if (run?.problem !== undefined && run.length === 0) this.#told.delete(runId)
    }
    telling.then(forgetWhereUnread, () => this.#told.delete(runId))
    return telling
  }

  /** The events that the first entries of a run tell of. */
  async toldUpTo(runId: string, upTo: number): Promise<readonly KeptEvent[]> {
    const entries = (await this.#loaded(runId)).entries ?? []
    return (await this.#tellEntries(runId, entries, upTo)).events
  }

  /** The agent that a run is one of, where it is known and there. */
  agentOf(entries: readonly JournalEntry[]): AnyAgent | undefined {
    const name = recordedBy(entries)?.name
    return this.#options.agents().find((agent) => agent.options.name === name)
  }

  async #tell(runId: string): Promise<ToldRun | undefined> {
    const { entries, problem } = await this.#loaded(runId)
    if (problem !== undefined) return { events: [], length: 0, problem }
    return entries && this.#tellEntries(runId, entries, entries.length)
  }

  async #loaded(runId: string): Promise<{ entries?: readonly JournalEntry[] | undefined; problem?: string }> {
    try {
      return { entries: await this.load(runId) }
    } catch (thrown) {
      return { problem: messageOf(thrown) }
    }
  }

  async #tellEntries(runId: string, entries: readonly JournalEntry[], upTo: number): Promise<ToldRun> {
    const agent = this.agentOf(entries)
    const { output } = agent?.options ?? {}
    const telling = tellJournal(entries, {
      runId,
      upTo,
      machine: agent?.machine,
      requestOf:
        agent === undefined
          ? requestsOfModel(recordedBy(entries)?.model ?? 'unknown')
          : requestsOf(agent.options),
      read: output && outputFormat(output).read,
    })
    const events: KeptEvent[] = []
    const redact = this.#redactFor(entries)
    let turn = performance.now()
    try {
      for (const told of telling) {
        const kept = keepTold(told, redact)
        if (kept !== undefined) events.push(kept)
        if (performance.now() - turn < TURN_MS) continue
        await nextTurn()
        turn = performance.now()
      }
    } catch (thrown) {
      return { events, length: entries.length, problem: problemOf(thrown) }
    }
    return { events, length: entries.length }
  }

  async #readDetails(runId: string): Promise<RowDetails> {
    // A store may answer at once, and a list asks for many.
    await nextTurn()
    const { entries, problem } = await this.#loaded(runId)
    if (problem !== undefined) return { problem }
    return entries === undefined ? {} : this.#detailsOf(runId, entries)
  }

  /** An entry may be JSON and yet not what it should be. */
  async #detailsOf(runId: string, entries: readonly JournalEntry[]): Promise<RowDetails> {
    try {
      return await this.#readEntries(runId, entries)
    } catch (thrown) {
      return { problem: problemOf(thrown) }
    }
  }

  async #readEntries(runId: string, entries: readonly JournalEntry[]): Promise<RowDetails> {
    const [first] = entries
    if (first?.type !== 'started')
      return { problem: `The journal of run "${runId}" does not begin with "started".` }
    const { messages } = first.input
    const asked: AgentEvent = {
      runId,
      at: first.at,
      type: 'messages.appended',
      messages: typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages,
    }
    const shown = this.#redactFor(entries)(asked)
    const question = shown?.type === 'messages.appended' ? questionIn(shown.messages) : undefined
    const name = recordedBy(entries)?.name
    const { usage, cost, isPriced } = spentIn(entries)
    return {
      startedAt: first.at,
      ...(question === undefined ? {} : { question }),
      ...(name === undefined ? {} : { agent: name }),
      tokens: usage.inputTokens + usage.outputTokens,
      ...(isPriced ? { cost } : {}),
      ...(first.forkOf === undefined ? {} : { forkOf: first.forkOf }),
      ...(entries.at(-1)?.type === 'waiting' ? await this.#waitingFor(runId, entries) : {}),
    }
  }

  /** What a person has to decide: known once the run is told. */
  async #waitingFor(
    runId: string,
    entries: readonly JournalEntry[],
  ): Promise<Pick<RowDetails, 'approvals' | 'problem'>> {
    const { events, problem } = await this.#tellEntries(runId, entries, entries.length)
    if (problem !== undefined) return { problem }
    const last = events.at(-1)
    const event = last && (JSON.parse(last.text) as AgentEvent)
    if (event?.type !== 'run.finished' || event.outcome.status !== 'waiting') return {}
    return { approvals: event.outcome.approvals }
  }

  /** A run of an agent that is not there may hold what any of those that are there would not show. */
  #redactFor(entries: readonly JournalEntry[]): Redact {
    const agent = this.agentOf(entries)
    const agents = agent === undefined ? this.#options.agents() : [agent]
    const all = [...agents.map(({ options }) => options.redact), this.#options.redact]
    const redacts = all.filter((redact) => redact !== undefined)
    return (event) =>
      redacts.reduce<AgentEvent | undefined>((shown, redact) => shown && redactedCopy(shown, redact), event)
  }
}

/** @throws JournalError where an entry cannot be read; LoopchartError `journal_error` where the store fails otherwise. */
async function answerOf<Value>(what: string, ask: () => Value | Promise<Value>): Promise<Value> {
  try {
    const answer = ask()
    return isThenable(answer) ? await within(STORE_MS, answer, late) : answer
  } catch (cause) {
    if (cause instanceof LoopchartError) throw cause
    throw new LoopchartError('journal_error', `The journal could not ${what}: ${messageOf(cause)}`, { cause })
  }
}

/** A request that is shown abridged is made again when somebody wants to see all of it. */
function keepTold({ event: make, position, repeats }: ToldEvent, redact: Redact): KeptEvent | undefined {
  const event = made(make)
  const shown = event && redact(event)
  if (shown === undefined) return undefined
  if (repeats <= FEW_MESSAGES) {
    const kept = keepEvent(shown)
    if (!kept.isAbridged || repeats === 0) return { ...kept, position }
  }
  const text = plainJson(abridged(shown))
  const whole = (): string => plainJson(redact(make()) ?? null)
  return { text, isAbridged: true, bytes: text.length, position, whole }
}

/** What an agent would have sent is asked of its own memory and tools, which may fail. */
function made(make: () => AgentEvent): AgentEvent | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}

function late(): Error {
  return new Error(`it did not answer within ${STORE_MS} ms`)
}

function problemOf(thrown: unknown): string {
  return thrown instanceof LoopchartError ? thrown.message : `It could not be told: ${messageOf(thrown)}`
}

function summaryFacts(runId: string, entries: readonly JournalEntry[]): Omit<RunRow, 'isLive'> {
  const { length: _length, ...facts } = summaryAfter(runId, undefined, entries)
  return facts
}

type Start = Pick<RunSummary, 'startedAt' | 'runId'>

/** Latest first. */
export function byStart(a: Start, b: Start): number {
  return b.startedAt - a.startedAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0)
}
