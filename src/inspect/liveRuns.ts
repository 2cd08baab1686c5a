import type { AgentEvent } from '../runtime/events.ts'
import { type AnyAgent, LiveRun } from './liveRun.ts'
import type { BufferBounds } from './timeline.ts'

export interface LiveBounds {
  /** Runs that are remembered at most, but for those under way. */
  readonly runs: number
  /** Memory of all events together. */
  readonly bytes: number
  readonly ofRun: BufferBounds
}

export const liveBounds: LiveBounds = {
  runs: 500,
  bytes: 64_000_000,
  ofRun: { events: 20_000, bytes: 16_000_000 },
}

/** By how much the runs may have become more before it is looked for some to forget. */
const FORGETTING_PACE = 1.1

/** The runs that were under way while the inspector watched, within bounds. */
export class LiveRuns {
  readonly #bounds: LiveBounds
  readonly #changed: (runId: string) => void
  /** The one that told something last comes last. */
  readonly #runs = new Map<string, LiveRun>()
  #bytes = 0
  #numberings = 0
  /** With how many more it is looked for runs to forget. */
  #mostRuns: number

  /** @param changed Called after each event that was kept. */
  constructor(bounds: LiveBounds, changed: (runId: string) => void) {
    this.#bounds = bounds
    this.#mostRuns = bounds.runs
    this.#changed = changed
  }

  get(runId: string): LiveRun | undefined {
    return this.#runs.get(runId)
  }

  /** In the order in which they told something last. */
  values(): readonly LiveRun[] {
    return [...this.#runs.values()]
  }

  take(event: AgentEvent, agent: AnyAgent): void {
    const run = this.#runFor(event, agent)
    if (run === undefined) return
    run.take(event)
    if (event.type === 'run.started') this.#touch(run)
    if (event.type === 'run.finished') run.close()
    this.#keepWithin()
  }

  close(): void {
    for (const run of this.#runs.values()) run.close()
  }

  #runFor(event: AgentEvent, agent: AnyAgent): LiveRun | undefined {
    const known = this.#runs.get(event.runId)
    if (known?.fits(event) === true) return known
    if (known !== undefined && event.type !== 'run.started') return this.#anew(known, event, agent)
    // The beginning may have been kept from watchers by `redact`; what follows is still to be seen.
    return this.#add(event, agent)
  }

  #anew(known: LiveRun, event: AgentEvent, agent: AnyAgent): LiveRun {
    const started = lastStart(known)
    const run = this.#add(started ?? event, agent)
    if (started !== undefined) run.take(started)
    return run
  }

  #add(first: AgentEvent, agent: AnyAgent): LiveRun {
    this.forget(first.runId)
    const run: LiveRun = new LiveRun(first, agent, {
      numbering: `live${++this.#numberings}`,
      bounds: this.#bounds.ofRun,
      told: (bytes) => {
        this.#bytes += bytes
        this.#changed(run.runId)
      },
    })
    this.#runs.set(run.runId, run)
    return run
  }

  #touch(run: LiveRun): void {
    this.#runs.delete(run.runId)
    this.#runs.set(run.runId, run)
  }

  forget(runId: string): void {
    const run = this.#runs.get(runId)
    if (run === undefined) return
    run.close()
    this.#bytes -= run.buffer.bytes
    this.#runs.delete(runId)
  }

  /** Forgets runs that have ended, the oldest first; where that does not help, the oldest events of the greatest run. */
  #keepWithin(): void {
    if (this.#runs.size > this.#mostRuns || this.#bytes > this.#bounds.bytes) this.#forgetEnded()
    while (this.#bytes > this.#bounds.bytes) {
      const greatest = this.values().reduce((a, b) => (a.buffer.bytes >= b.buffer.bytes ? a : b))
      const before = greatest.buffer.bytes
      greatest.buffer.drop(1 / 2)
      this.#bytes += greatest.buffer.bytes - before
    }
  }

  #forgetEnded(): void {
    const active = this.activeIds()
    const { runs, bytes } = this.#bounds
    for (const run of this.#runs.values()) {
      if (this.#runs.size <= runs && this.#bytes <= bytes) break
      if (!active.has(run.runId)) this.forget(run.runId)
    }
    // Runs under way are not forgotten, however many there are; looking for others each time would cost more than they do.
    this.#mostRuns = Math.max(runs, Math.ceil(this.#runs.size * FORGETTING_PACE))
  }

  /** The ids of the runs that are under way. */
  activeIds(): ReadonlySet<string> {
    const agents = new Set([...this.#runs.values()].map(({ agent }) => agent))
    const under = [...agents].flatMap((agent) => agent.activeRuns().map(({ runId }) => runId))
    return new Set(under.filter((runId) => this.#runs.get(runId)?.hasEnded === false))
  }
}

/** The event with which a run went on last. */
function lastStart({ buffer }: LiveRun): AgentEvent | undefined {
  const last = buffer.at(buffer.next - 1)
  if (last === undefined) return undefined
  const event = JSON.parse(last.text) as AgentEvent
  return event.type === 'run.started' ? event : undefined
}
