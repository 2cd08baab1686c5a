import type { RunSummary } from '../journal/entry.ts'
import type { Hub } from './hub.ts'

/** The runs that are looked at for changes: those that began last. */
const LOOKED_AT = 50

/** A store that is slow is asked less often: so many times as long as it takes. */
const PATIENCE = 5

/** Notices, while somebody looks, what other processes write to the journals. */
export class Poll {
  readonly #hub: Hub
  readonly #everyMs: number
  /** Runs of which somebody looks at the events, and by how many. */
  readonly #followed = new Map<string, number>()
  readonly #lengths = new Map<string, number>()
  #known: ReadonlyMap<string, string> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  /** @param everyMs Milliseconds between two looks. */
  constructor(hub: Hub, everyMs: number) {
    this.#hub = hub
    this.#everyMs = everyMs
  }

  /** Looks regularly, as long as somebody watches. */
  start(): void {
    // At once: what changes from then on is noticed.
    if (this.#timer === undefined && !this.#isClosed) this.#schedule(0)
  }

  /** Notices new events of a run, until the function that comes back is called. */
  follow(runId: string): () => void {
    this.#followed.set(runId, (this.#followed.get(runId) ?? 0) + 1)
    return () => {
      const others = (this.#followed.get(runId) ?? 1) - 1
      if (others > 0) this.#followed.set(runId, others)
      else this.#followed.delete(runId)
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => void this.#look(), ms).unref()
  }

  async #look(): Promise<void> {
    if (!this.#hub.isWatched) {
      this.#timer = undefined
      this.#known = undefined
      return
    }
    const startedAt = performance.now()
    // A store that cannot be read now may be so later; whoever lists its runs is told.
    await this.#compare().catch(() => {})
    if (!this.#isClosed) this.#schedule(Math.max(this.#everyMs, PATIENCE * (performance.now() - startedAt)))
  }

  async #compare(): Promise<void> {
    if (this.#hub.journals.length === 0) return
    const summaries = await this.#hub.stored.list({ limit: LOOKED_AT })
    const known = this.#known
    this.#known = new Map(summaries.map((summary) => [summary.runId, stateOf(summary)]))
    for (const summary of summaries) {
      // On the first look, only what was seen here can be compared.
      const isOther =
        known === undefined
          ? this.#hub.liveRun(summary.runId) !== undefined
          : known.get(summary.runId) !== stateOf(summary)
      if (isOther) this.#changed(summary)
    }
    const listed = new Map(summaries.map(({ runId, length }) => [runId, length]))
    for (const runId of this.#followed.keys()) await this.#lookAt(runId, listed.get(runId))
    for (const runId of this.#lengths.keys()) if (!this.#followed.has(runId)) this.#lengths.delete(runId)
  }

  #changed({ runId, updatedAt }: RunSummary): void {
    const live = this.#hub.liveRun(runId)
    // What happens here has been told already.
    if (live?.isActive === true) return
    if (live !== undefined && updatedAt <= live.updatedAt) return
    this.#hub.forget(runId)
    this.#hub.noteChange(runId)
  }

  /** @param listed How long its journal is, where it is among those that were listed. */
  async #lookAt(runId: string, listed: number | undefined): Promise<void> {
    if (this.#hub.liveRun(runId) !== undefined) return
    const length = listed ?? (await this.#hub.stored.load(runId))?.length
    if (length === undefined) return
    const before = this.#lengths.get(runId) ?? (await this.#hub.stored.told(runId))?.length
    this.#lengths.set(runId, length)
    if (before === length) return
    this.#hub.stored.forget(runId)
    this.#hub.wake()
  }
}

function stateOf({ status, updatedAt, length }: RunSummary): string {
  return `${status} ${updatedAt} ${length}`
}
