import { environment } from '../environment.ts'
import { LoopchartError } from '../errors.ts'

/**
 * `open`: runs begin and go on. `closing`: no run begins, and those under way stop before their next step. `over`: what is
 * still under way is given up.
 */
export type ShutdownStage = 'open' | 'closing' | 'over'

/** Leads all runs of an agent out of the process. */
export class Shutdown {
  #stage: ShutdownStage = 'open'
  readonly #listeners = new Set<() => void>()
  readonly #interrupted = new Set<string>()
  readonly #over = new AbortController()
  #inside = 0
  readonly #empty = Promise.withResolvers<void>()

  get stage(): ShutdownStage {
    return this.#stage
  }

  /** Runs that were under way and can be resumed. */
  get interrupted(): readonly string[] {
    return [...this.#interrupted]
  }

  /** Aborted when what is still under way is given up. */
  get over(): AbortSignal {
    return this.#over.signal
  }

  /**
   * Counts a run in until the function that comes back is called.
   *
   * @throws LoopchartError `agent_closed` where no run may begin any more.
   */
  enter(): () => void {
    if (this.#stage !== 'open') {
      throw new LoopchartError(
        'agent_closed',
        'The agent was closed and takes no more runs. Those that it kept in a journal go on with agent.recover() or ' +
          'agent.resume() of another process.',
      )
    }
    this.#inside++
    return () => {
      this.#inside--
      if (this.#inside === 0 && this.#stage !== 'open') this.#empty.resolve()
    }
  }

  /** Calls a function at each change, until the function that comes back is called. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  addInterrupted(runId: string): void {
    this.#interrupted.add(runId)
  }

  /**
   * Resolves once no run is under way. Closing again waits for the same.
   *
   * @param timeoutMs Milliseconds after which what is still under way is given up.
   */
  async close(timeoutMs: number): Promise<void> {
    if (this.#stage === 'open') this.#change('closing')
    if (this.#inside === 0) this.#empty.resolve()
    const stopTimer = environment().after(timeoutMs, () => this.#change('over'))
    await this.#empty.promise
    stopTimer()
  }

  #change(stage: ShutdownStage): void {
    this.#stage = stage
    if (stage === 'over') this.#over.abort()
    for (const listener of [...this.#listeners]) listener()
  }
}
