import { describeError } from '../errors.ts'
import type { JournalEntry, RunEvent } from '../journal/entry.ts'
import type { ModelTurn, ToolAnswer } from '../machines/effects.ts'
import { type Ending, endingOf } from '../machines/outcome.ts'
import { abort } from '../machines/reducers.ts'
import { eventOf } from './eventOf.ts'
import type { EffectReport, EventBody } from './events.ts'
import type { Fold, Progress } from './fold.ts'
import type { Host } from './host.ts'
import { describe, type Effect } from './pureMachine.ts'

export interface DriverOptions {
  readonly host: Host
  /** Keeps what has happened before the machine sees it. Absent where no journal is kept. */
  readonly record?: ((entries: readonly JournalEntry[]) => void | Promise<void>) | undefined
  /** Absent where nobody watches. */
  readonly observe?: ((event: EventBody) => void) | undefined
}

/** Where a run is taken up. */
export interface StartingPoint {
  readonly effects: readonly Effect[]
  readonly happened?: readonly RunEvent[]
  readonly first?: JournalEntry
  /** Whether the end of the run is in the journal already. */
  readonly ended?: boolean
}

/** Leads a run from where its fold stands to its end, or to where it waits for a person. */
export class Driver {
  readonly #fold: Fold
  readonly #host: Host
  readonly #record: DriverOptions['record']
  readonly #observe: DriverOptions['observe']
  readonly #startedAt = new Map<string, number>()
  /** The model call of which text has been shown last. */
  #shown: string | undefined

  constructor(fold: Fold, { host, record, observe }: DriverOptions) {
    this.#fold = fold
    this.#host = host
    this.#record = record
    this.#observe = observe
  }

  /**
   * @param from.effects What the run waits for and nobody has started.
   * @param from.happened What has happened already and is not in the journal yet.
   * @param from.first What to record before anything else.
   */
  async drive({ effects, happened = [], first, ended = false }: StartingPoint): Promise<Ending> {
    try {
      if (first !== undefined) await this.#recordAll([first])
      this.#observeProgress(this.#fold.initial)
      if (!ended) for (const event of happened) await this.#take(event)
      await this.#startEffects(effects.filter((effect) => this.#fold.pending.get(effect.place) === effect))
      while (this.#fold.snapshot.status === 'active' && this.#fold.pending.size > 0) {
        await this.#take(await this.#host.next())
      }
      return await this.#end(ended)
    } catch (thrown) {
      return this.#breakOff(thrown)
    }
  }

  async #take(event: RunEvent): Promise<void> {
    if (this.#record !== undefined) await this.#recordAll([{ type: 'event', at: Date.now(), event }])
    const effect = 'place' in event ? this.#fold.pending.get(event.place) : undefined
    if (this.#observe !== undefined && effect !== undefined) this.#observeSettling(effect, event)
    const before = this.#fold.snapshot.context
    const progress = this.#fold.apply(event)
    const after = this.#fold.snapshot.context
    if (effect !== undefined && after.transcript.length === before.transcript.length) this.#takeBack(effect)
    this.#observeProgress(progress)
    if (after.verdict !== undefined && after.verdict !== before.verdict) {
      this.#observe?.({ type: 'limit.reached', verdict: after.verdict })
    }
    for (const place of progress.stopped) this.#host.stop(place)
    if (progress.started.length > 0) await this.#startEffects(progress.started)
  }

  /** Shows what an effect reports while it goes on. */
  observeReport(effect: Effect, report: EffectReport): void {
    const body = eventOf(effect, report)
    if (body === undefined) return
    if (body.type === 'model.delta') this.#shown = effect.place
    else if (body.type === 'model.reset') this.#shown = undefined
    this.#observe?.(body)
  }

  async #startEffects(effects: readonly Effect[]): Promise<void> {
    await this.#recordIntents(effects)
    for (const effect of effects) {
      if (this.#observe !== undefined) this.#observeStart(effect)
      this.#host.start(effect)
    }
  }

  /** Only tools have effects that must not happen twice; asking a model again is harmless. */
  #recordIntents(effects: readonly Effect[]): void | Promise<void> {
    if (this.#record === undefined) return
    const intents = effects
      .filter(({ kind }) => kind === 'runTool')
      .map(({ place }): JournalEntry => ({ type: 'intent', at: Date.now(), place }))
    if (intents.length > 0) return this.#recordAll(intents)
  }

  async #recordAll(entries: readonly JournalEntry[]): Promise<void> {
    try {
      await this.#record?.(entries)
    } catch (cause) {
      throw new JournalFailure(cause)
    }
  }

  async #end(ended: boolean): Promise<Ending> {
    const { status, output, error, context } = this.#fold.snapshot
    if (status === 'error') throw error
    const ending = output ?? endingOf(context)
    if (ending.status !== 'waiting' && !ended) {
      await this.#recordAll([{ type: 'ended', at: Date.now(), status: ending.status }])
    }
    return ending
  }

  /** The run cannot go on: something failed that no run should meet. What is known of it is kept. */
  #breakOff(thrown: unknown): Ending {
    for (const place of this.#fold.pending.keys()) this.#host.stop(place)
    const { context } = this.#fold.snapshot
    const [reason, cause, what] =
      thrown instanceof JournalFailure
        ? (['journal_error', thrown.cause, 'The journal could not be written'] as const)
        : (['internal_error', thrown, 'The run broke off'] as const)
    const error = describeError(cause)
    return endingOf({
      ...context,
      ...abort(context, { reason, message: `${what}: ${error.message}` }),
      error,
    })
  }

  #observeStart({ kind, place, input }: Effect): void {
    this.#startedAt.set(place, performance.now())
    if (kind === 'callModel') {
      this.#observe?.({ type: 'model.started', place, closing: input.toolChoice === 'none' })
    } else if (kind === 'runTool') {
      const { id: callId, function: called } = input.call
      this.#observe?.({ type: 'tool.started', place, callId, name: called.name, arguments: called.arguments })
    }
  }

  #observeSettling({ kind, place, input }: Effect, event: RunEvent): void {
    const durationMs = performance.now() - (this.#startedAt.get(place) ?? performance.now())
    this.#startedAt.delete(place)
    if (kind === 'callModel') {
      const call = { place, closing: input.toolChoice === 'none', durationMs }
      if (event.type === 'settled') {
        this.#observe?.({ type: 'model.finished', ...call, reply: (event.output as ModelTurn).reply })
      } else if (event.type === 'failed') {
        this.#observe?.({ type: 'model.failed', ...call, error: event.error })
      }
    } else if (kind === 'runTool' && event.type === 'settled') {
      const { id: callId, function: called } = input.call
      const answer = event.output as ToolAnswer
      this.#observe?.({ type: 'tool.finished', place, callId, name: called.name, ...answer, durationMs })
    }
  }

  /** Text that was shown and did not enter the transcript (the call failed, the reply was cut off) is void. */
  #takeBack({ kind, place, input }: Effect): void {
    if (kind !== 'callModel' || this.#shown !== place) return
    this.#shown = undefined
    this.#observe?.({ type: 'model.reset', place, closing: input.toolChoice === 'none' })
  }

  #observeProgress({ taken }: Progress): void {
    if (this.#observe === undefined) return
    for (const edge of taken) this.#observe({ type: 'transition', ...describe(edge) })
  }
}

/** Tells a failing journal from a failing machine. */
class JournalFailure extends Error {
  constructor(cause: unknown) {
    super('The journal could not be written', { cause })
  }
}
