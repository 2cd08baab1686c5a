import { describeError } from '../errors.ts'
import type { Cancellation, RunEvent } from '../journal/entry.ts'
import type { EffectKind, EffectMap, Spent } from '../machines/effects.ts'
import type { RunTools } from '../tools/toolbox.ts'
import type { EffectReport } from './events.ts'
import type { Host } from './host.ts'
import type { Effect } from './pureMachine.ts'
import { Queue } from './queue.ts'

/** What an effect is performed with. */
export interface EffectIO {
  /** Aborted when nobody wants the effect any more. */
  readonly signal: AbortSignal
  /** The run for which it is performed. */
  readonly runId: string
  /** What the caller of the run gives its tools. */
  readonly context: unknown
  /** The tools of the run. */
  readonly tools: RunTools
  /** Milliseconds since the start of the run. */
  elapsedMs(): number
  /** Whether anybody watches: text need not be streamed otherwise. */
  readonly watched: boolean
  /** Tells the effect to stop, without giving it up: what it settles with still counts. */
  stop?(reason: unknown): void
  /** Tells what the effect has spent so far, in all, which counts even where it is given up. */
  spent?(total: readonly Spent[]): void
  /** Reports what goes on meanwhile. */
  report(report: EffectReport): void
}

/** What is the same for all effects of a run. */
export type RunFacts = Pick<EffectIO, 'runId' | 'context' | 'tools' | 'elapsedMs'>

/** The functions behind the chart's actors. */
export type Services = {
  readonly [Kind in EffectKind]: (
    input: EffectMap[Kind]['input'],
    io: EffectIO,
  ) => Promise<EffectMap[Kind]['output']>
}

/** Runs effects in this process, all at once, and reports them in the order in which they settle. */
export class InProcessHost implements Host {
  readonly #services: Services
  readonly #facts: RunFacts
  readonly #report: ((effect: Effect, report: EffectReport) => void) | undefined
  readonly #running = new Map<string, AbortController>()
  /** By place. Kept when an effect has settled: what it has to say may still wait in the queue. */
  readonly #spent = new Map<string, readonly Spent[]>()
  readonly #happened = new Queue<RunEvent>()
  readonly #cancelled = Promise.withResolvers<void>()
  #isCancelled = false
  #wake: ((event: RunEvent | undefined) => void) | undefined

  constructor(
    services: Services,
    facts: RunFacts,
    report: ((effect: Effect, report: EffectReport) => void) | undefined,
  ) {
    this.#services = services
    this.#facts = facts
    this.#report = report
  }

  start(effect: Effect): void {
    const { place } = effect
    const controller = new AbortController()
    this.#running.set(place, controller)
    const settle = (event: RunEvent): void => {
      // What was stopped, or replaced by a later effect at the same place, has nothing more to say.
      if (this.#running.get(place) !== controller) return
      this.#running.delete(place)
      this.#push(event)
    }
    this.#perform(effect, controller).then(
      (output) => settle({ type: 'settled', place, output }),
      (thrown) => settle({ type: 'failed', place, error: describeError(thrown) }),
    )
  }

  spent(place: string): readonly Spent[] {
    return this.#spent.get(place) ?? []
  }

  stop(place: string, reason?: unknown): void {
    const controller = this.#running.get(place)
    if (controller === undefined) return
    this.#running.delete(place)
    controller.abort(reason)
  }

  get isCancelled(): boolean {
    return this.#isCancelled
  }

  get cancelled(): Promise<void> {
    return this.#cancelled.promise
  }

  next(): Promise<RunEvent | undefined> {
    const event = this.#happened.shift()
    if (event !== undefined) return Promise.resolve(event)
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  rouse(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.(undefined)
  }

  /** Tells the run that it is cancelled, ahead of anything else that has happened. */
  cancel(cancellation: Cancellation): void {
    this.#isCancelled = true
    this.#cancelled.resolve()
    this.#push({ type: 'cancelled', ...cancellation }, true)
  }

  /** Tells the run of something that came from outside. */
  tell(event: RunEvent): void {
    this.#push(event)
  }

  async #perform(effect: Effect, controller: AbortController): Promise<unknown> {
    const io: EffectIO = {
      signal: controller.signal,
      ...this.#facts,
      stop: (reason) => controller.abort(reason),
      spent: (total) => {
        if (this.#running.get(effect.place) === controller) this.#spent.set(effect.place, total)
      },
      watched: this.#report !== undefined,
      report: (report) => {
        // What has settled or was stopped has nothing more to say.
        if (this.#running.get(effect.place) === controller) this.#report?.(effect, report)
      },
    }
    // Each kind has its own input; the compiler cannot follow that through a lookup.
    const service = this.#services[effect.kind] as (input: Effect['input'], io: EffectIO) => Promise<unknown>
    return service(effect.input, io)
  }

  #push(event: RunEvent, first = false): void {
    const wake = this.#wake
    if (wake !== undefined) {
      this.#wake = undefined
      wake(event)
    } else if (first) {
      this.#happened.unshift(event)
    } else {
      this.#happened.push(event)
    }
  }
}
