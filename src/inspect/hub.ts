import { randomUUID } from 'node:crypto'
import type { Journal, RunStatus, RunSummary } from '../journal/entry.ts'
import type { AgentEvent } from '../runtime/events.ts'
import type { Redact } from '../runtime/notify.ts'
import type { KeptEvent } from './keptEvent.ts'
import { LeastRecent } from './leastRecent.ts'
import type { AnyAgent, LiveRun } from './liveRun.ts'
import { type LiveBounds, LiveRuns, liveBounds } from './liveRuns.ts'
import type { RunRow, RunsPage } from './protocol.ts'
import { redactedCopy } from './redactedCopy.ts'
import { byStart, StoredRuns, type ToldRun } from './storedRuns.ts'
import { behind, type Timeline, timelineOf } from './timeline.ts'

export interface HubOptions {
  /** A journal beside those of the agents. */
  readonly journal?: Journal | undefined
  readonly redact?: Redact | undefined
  readonly bounds?: Partial<LiveBounds> | undefined
}

/** Which runs to list. */
export interface RowQuery {
  readonly status?: RunStatus | undefined
  /** Only runs whose question, id, agent or reason holds this, whatever the case. */
  readonly search?: string | undefined
  readonly limit: number
  /** The last one of the page before. */
  readonly before?: Start | undefined
}

type Start = Pick<RunSummary, 'startedAt' | 'runId'>

/** Journals that are searched are read: so many runs for one page at most. */
const SEARCHED = 500

/** Summaries that are asked for at once. */
const BATCH = 100

/** Changes that are remembered for those who were away. */
const REMEMBERED_CHANGES = 10_000

/** How many runs that went on from before are remembered with what came before. */
const REMEMBERED_BEGINNINGS = 4

/** All that the inspector knows: what it watches, and what journals tell. */
export class Hub {
  /** Another one with each start. */
  readonly instance: string = randomUUID()
  readonly stored: StoredRuns
  readonly #options: HubOptions
  readonly #live: LiveRuns
  readonly #agents = new Set<WatchedAgent | WeakRef<AnyAgent>>()
  readonly #listeners = new Set<() => void>()
  readonly #beginnings = new LeastRecent<Promise<readonly KeptEvent[]>>(REMEMBERED_BEGINNINGS)
  readonly #tellings = new LeastRecent<{ run: ToldRun; generation: number }>(REMEMBERED_BEGINNINGS)
  readonly #shownRows = new LeastRecent<string>(REMEMBERED_CHANGES)
  #changes: { readonly number: number; readonly runId: string }[] = []
  #lastChange = 0
  #isClosed = false

  constructor(options: HubOptions = {}) {
    this.#options = options
    this.stored = new StoredRuns({
      journals: () => this.journals,
      agents: () => this.agents,
      redact: options.redact,
    })
    this.#live = new LiveRuns({ ...liveBounds, ...options.bounds }, (runId) => this.#told(runId))
  }

  /** Watches an agent. Its runs can be acted on. */
  add(agent: AnyAgent): void {
    if (this.agents.includes(agent)) return
    const unwatch = agent.watch((event) => this.take(event, agent))
    this.#agents.add({ deref: () => agent, unwatch })
  }

  /** An agent whose events somebody else brings; it is known for as long as others hold it. */
  addWeakly(agent: AnyAgent): void {
    this.#agents.add(new WeakRef(agent))
  }

  /** Takes in what an agent's run told. */
  take(event: AgentEvent, agent: AnyAgent): void {
    const { redact } = this.#options
    if (this.#isClosed) return
    const shown = redact === undefined ? event : redactedCopy(event, redact)
    if (shown !== undefined) this.#live.take(shown, agent)
  }

  get agents(): readonly AnyAgent[] {
    const agents: AnyAgent[] = []
    for (const watched of this.#agents) {
      const agent = watched.deref()
      if (agent === undefined) this.#agents.delete(watched)
      else agents.push(agent)
    }
    return agents
  }

  get journals(): readonly Journal[] {
    const all = [this.#options.journal, ...this.agents.map(({ options }) => options.journal)]
    return [...new Set(all.filter((journal) => journal !== undefined))]
  }

  /** Calls back at each change, until the function that comes back is called. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  get isWatched(): boolean {
    return this.#listeners.size > 0
  }

  /** The number of the last change of a row. */
  get lastChange(): number {
    return this.#lastChange
  }

  /** The runs whose rows have changed since, each once, oldest change first; `undefined` where that is not known. */
  changedSince(number: number): readonly string[] | undefined {
    const [first] = this.#changes
    if (number > this.#lastChange || (first !== undefined && number < first.number - 1)) return undefined
    // From the back: who follows asks for the last few.
    let from = this.#changes.length
    while (from > 0 && (this.#changes[from - 1]?.number ?? 0) > number) from--
    return [...new Set(this.#changes.slice(from).map(({ runId }) => runId))]
  }

  /** A row has changed for everybody who follows the list. */
  noteChange(runId: string): void {
    this.#changes.push({ number: ++this.#lastChange, runId })
    if (this.#changes.length > REMEMBERED_CHANGES * 2)
      this.#changes = this.#changes.slice(-REMEMBERED_CHANGES)
    this.wake()
  }

  wake(): void {
    for (const listener of [...this.#listeners]) listener()
  }

  /** Somebody else has gone on with a run: what was seen of it here is not all any more. */
  forget(runId: string): void {
    this.#live.forget(runId)
    this.stored.forget(runId)
  }

  liveRun(runId: string): LiveRun | undefined {
    return this.#live.get(runId)
  }

  /** @param isActive Whether a run that was not seen to end is taken to be under way. Default: it is looked for. */
  async row(runId: string, isActive?: boolean): Promise<RunRow | undefined> {
    const live = this.#live.get(runId)
    if (live === undefined) return this.stored.rowOf(runId)
    const { recorded } = live
    const known = this.stored.knownDetails(runId)
    if (known !== undefined || recorded === undefined) return liveRow(live.row(isActive), known ?? {})
    return liveRow(live.row(isActive), await this.stored.details({ runId, length: recorded }))
  }

  /** Latest start first. Reads only as much of the journals as the page needs. */
  async rows({ limit, search, status, before }: RowQuery): Promise<RunsPage> {
    const wanted = search?.toLowerCase()
    const found: RunRow[] = []
    const active = this.#live.activeIds()
    let from = before
    let looked = 0
    for (;;) {
      const batch = await this.#batch({
        status,
        before: from,
        limit: wanted === undefined ? limit + 1 : BATCH,
      })
      for (const { start, row } of batch) {
        if (found.length === limit) return { runs: found, next: cursorOf(from as Start) }
        from = start
        looked++
        const shown = await row(active)
        if (wanted === undefined || matches(shown, wanted)) found.push(shown)
      }
      if (batch.length === 0) return { runs: found }
      if (looked >= SEARCHED || found.length === limit) {
        const isMore = (await this.#batch({ status, before: from, limit: 1 })).length > 0
        return isMore ? { runs: found, next: cursorOf(from as Start) } : { runs: found }
      }
    }
  }

  /** The events of a run; `undefined` where nothing is known of it. */
  async timeline(runId: string): Promise<Timeline | undefined> {
    const live = this.#live.get(runId)
    // What was dropped, the journal still tells, once the run is over.
    if (live !== undefined && (live.buffer.first === 0 || !live.hasEnded)) return this.#liveTimeline(live)
    const run = await this.stored.told(runId)
    if (run === undefined) return live && this.#liveTimeline(live)
    return timelineOf(`told${this.#generationOf(runId, run)}`, run.events)
  }

  /** Why the journal of a run cannot be told to its end. */
  async problemOf(runId: string): Promise<string | undefined> {
    return this.#live.get(runId) === undefined ? (await this.stored.told(runId))?.problem : undefined
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  close(): void {
    this.#isClosed = true
    for (const watched of this.#agents) if ('unwatch' in watched) watched.unwatch?.()
    this.#agents.clear()
    this.#live.close()
    this.wake()
  }

  #told(runId: string): void {
    const live = this.#live.get(runId)
    if (live !== undefined) {
      const { updatedAt: _updatedAt, ...row } = live.row(true)
      const text = JSON.stringify(row)
      if (this.#shownRows.get(runId) !== text) {
        this.#shownRows.set(runId, text)
        this.noteChange(runId)
        return
      }
    }
    this.wake()
  }

  async #liveTimeline(live: LiveRun): Promise<Timeline> {
    const { recorded, runId, buffer } = live
    if (recorded === undefined || recorded === 0) return buffer
    const key = `${buffer.numbering} ${recorded}`
    const known = this.#beginnings.get(key)
    const beginning = known ?? this.stored.toldUpTo(runId, recorded).catch(() => [])
    if (known === undefined) this.#beginnings.set(key, beginning)
    return behind(await beginning, buffer)
  }

  /** A run that goes on elsewhere is told anew; another generation where what was told before has changed. */
  #generationOf(runId: string, run: ToldRun): number {
    const known = this.#tellings.get(runId)
    if (known?.run === run) return known.generation
    const isSame = known?.run.events.every(({ text }, i) => run.events[i]?.text === text) ?? true
    const generation = (known?.generation ?? 0) + (isSame ? 0 : 1)
    this.#tellings.set(runId, { run, generation })
    return generation
  }

  /** Runs in the order of the list, whose rows are made when they are wanted. */
  async #batch({ status, before, limit }: Omit<RowQuery, 'search'>): Promise<readonly Listed[]> {
    const summaries = await this.#summaries({ status, before, limit })
    const kept = new Set(summaries?.map(({ runId }) => runId))
    const unkept = this.#live
      .values()
      .filter((live) => !kept.has(live.runId) && (summaries === undefined || !isKept(live)))
      .map((live) => ({ live, row: live.row(true) }))
      .filter(({ row }) => status === undefined || row.status === status)
      .filter(({ row }) => before === undefined || byStart(before, row) < 0)
      .map(
        ({ live, row }): Listed => ({
          start: row,
          row: async (active) => live.row(active.has(live.runId)),
        }),
      )
    const listed = (summaries ?? []).map(
      (summary): Listed => ({ start: summary, row: (active) => this.#keptRow(summary, active) }),
    )
    return [...listed, ...unkept].sort((a, b) => byStart(a.start, b.start)).slice(0, limit)
  }

  /** `undefined` where no journal answers: what is under way can still be seen. */
  async #summaries(query: Omit<RowQuery, 'search'>): Promise<readonly RunSummary[] | undefined> {
    if (this.journals.length === 0) return []
    try {
      return await this.stored.list(query)
    } catch (thrown) {
      if (this.#live.values().length === 0) throw thrown
      return undefined
    }
  }

  async #keptRow(summary: RunSummary, active: ReadonlySet<string>): Promise<RunRow> {
    const { runId } = summary
    const live = this.#live.get(runId)
    if (live === undefined || !active.has(runId)) return this.stored.row(summary)
    return liveRow(live.row(true), { ...(await this.stored.details(summary)), steps: summary.steps })
  }
}

/** What happened here, with what only a journal knows: how it began. */
function liveRow(row: RunRow, { question, startedAt, steps = 0, ...details }: Partial<RunRow>): RunRow {
  return {
    ...details,
    ...row,
    ...(question === undefined ? {} : { question }),
    startedAt: startedAt ?? row.startedAt,
    steps: Math.max(steps, row.steps),
  }
}

interface WatchedAgent {
  /** The agent, unless nobody holds it any more. */
  deref(): AnyAgent | undefined
  unwatch?(): void
}

interface Listed {
  readonly start: Start
  row(active: ReadonlySet<string>): Promise<RunRow>
}

/** Whether a journal lists the run. One whose journal failed may be nowhere else. */
function isKept(live: LiveRun): boolean {
  return live.agent.options.journal !== undefined && live.row(true).reason !== 'journal_error'
}

function matches({ question, runId, agent, reason }: RunRow, wanted: string): boolean {
  const texts: readonly unknown[] = [question, runId, agent, reason]
  return texts.some((text) => typeof text === 'string' && text.toLowerCase().includes(wanted))
}

/** Where the next page begins, as text. */
export function cursorOf({ startedAt, runId }: Start): string {
  return `${startedAt}~${runId}`
}

/** The place that a cursor names; `undefined` where it is none. */
export function placeOf(cursor: string): Start | undefined {
  const [, startedAt, runId] = /^(-?\d+(?:\.\d+)?)~([\s\S]*)$/.exec(cursor) ?? []
  return startedAt === undefined || runId === undefined ? undefined : { startedAt: Number(startedAt), runId }
}
