import { environment } from '../environment.ts'
import { describeError, Interruption, LoopchartError } from '../errors.ts'
import { withinGrace } from '../grace.ts'
import type { JournalEntry, RunEvent, SettlingEvent } from '../journal/entry.ts'
import { type Ending, endingOf } from '../machines/outcome.ts'
import { abort } from '../machines/reducers.ts'
import { askedOf, type Doubt } from './doubts.ts'
import type { Fold } from './fold.ts'
import type { Host } from './host.ts'
import type { Narrator } from './narrator.ts'
import type { Effect } from './pureMachine.ts'
import type { Shutdown, ShutdownStage } from './shutdown.ts'

export interface DriverOptions {
  readonly host: Host
  /**
   * Keeps what has happened before the machine sees it; `false` where somebody else has written meanwhile. Absent where
   * no journal is kept.
   */
  readonly record?: ((entries: readonly JournalEntry[]) => boolean | Promise<boolean>) | undefined
  /** Called with each event that the machine has seen. */
  readonly taken?: ((event: RunEvent) => void) | undefined
  /** Absent where nobody watches. */
  readonly narrator?: Narrator | undefined
  /** Leads the run out of the process. */
  readonly shutdown: Shutdown
}

/** Where a run is taken up. */
export interface StartingPoint {
  /** What is known to have happened and is not in the journal yet. */
  readonly happened?: readonly RunEvent[]
  /** Tool calls that were begun once and of which a person has to say what becomes of them. */
  readonly asked?: readonly Doubt[]
  /** What is recorded before anything else; absent where there is nothing more to do. */
  readonly opening?: Opening | undefined
}

/** How the journal learns that a run begins or goes on. */
export interface Opening {
  readonly entry: JournalEntry
  /** What to throw where somebody else has written first. */
  refusal(): LoopchartError
  /** Called once it is recorded. */
  opened?(): void
}

/** Leads a run from where its fold stands to its end, or to where it waits for a person. */
export class Driver {
  readonly #fold: Fold
  readonly #host: Host
  readonly #record: DriverOptions['record']
  readonly #taken: DriverOptions['taken']
  readonly #narrator: Narrator | undefined
  readonly #shutdown: Shutdown
  /** The calls that are put to a person, by place. */
  readonly #asked = new Map<string, Doubt>()
  /** Places of effects that are left for another process. */
  readonly #left = new Set<string>()
  /** Aborted when the run is to stop: a journal that hangs must not keep it from that. */
  readonly #stopped = new AbortController()
  /** Why the run cannot begin. */
  #failure: JournalFailure | undefined
  /** Whether all that is known to have happened has been taken in: nothing begins before. */
  #isCaughtUp = false
  /** Whether the journal is to be told how the run ends, or that it waits. */
  #hasNews = false
  /** Whether the agent that called this one was closed. */
  #isInterruptedFromAbove = false

  constructor(fold: Fold, { host, record, taken, narrator, shutdown }: DriverOptions) {
    this.#fold = fold
    this.#host = host
    this.#record = record
    this.#taken = taken
    this.#narrator = narrator
    this.#shutdown = shutdown
    void host.cancelled.then(() => this.#stopped.abort())
  }

  /**
   * Records that the run begins or goes on.
   *
   * @throws LoopchartError the refusal, where somebody else has written first. Where the journal fails otherwise, the run
   * ends so when it is driven.
   */
  async open({ entry, refusal, opened }: Opening): Promise<void> {
    const unlisten = this.#shutdown.listen(() => this.#tellShutdown())
    try {
      await this.#recordAll([entry])
      if (entry.type === 'resumed') this.#fold.goOn(entry.at)
      opened?.()
    } catch (thrown) {
      if (!(thrown instanceof JournalFailure)) throw thrown
      if (thrown.cause instanceof RunLost) throw refusal()
      this.#failure = thrown
    } finally {
      unlisten()
    }
  }

  /**
   * Takes in all that has happened, then starts what the run waits for, and goes on to the end.
   *
   * @param from.happened What has happened already and is not in the journal yet.
   * @param from.asked What waits for the word of a person.
   */
  async drive({ happened = [], asked = [] }: StartingPoint): Promise<Ending> {
    const unlisten = this.#shutdown.listen(() => this.#tellShutdown())
    try {
      if (this.#failure !== undefined) throw this.#failure
      for (const doubt of asked) this.#asked.set(doubt.effect.place, doubt)
      for (const event of happened) {
        // A run that has ended stays as it ended.
        if (this.#isActive) await this.#take(event)
      }
      await this.#takeDeadlines()
      this.#isCaughtUp = true
      if (this.#isActive) await this.#startEffects(this.#toStart())
      for (;;) {
        if (this.#stage !== 'open') this.#leaveEffects()
        if (!this.#isUnderWay) break
        const event = await this.#host.next()
        const interrupted = event && this.#interruptedEffect(event)
        if (interrupted !== undefined) this.#leave(interrupted)
        else if (event !== undefined) await this.#take(this.#withSpending(event))
      }
      // The deadlines of a run that is handed back; they are set again when it is resumed.
      for (const place of this.#fold.pending.keys()) this.#host.stop(place)
      return await this.#end()
    } catch (thrown) {
      return this.#breakOff(thrown)
    } finally {
      unlisten()
    }
  }

  /** What the run waits for and nobody has started, but for what a person is asked about. */
  #toStart(): readonly Effect[] {
    return [...this.#fold.pending.values()].filter(({ place }) => !this.#asked.has(place))
  }

  get #stillAsked(): readonly Doubt[] {
    return [...this.#asked.values()].filter(({ effect }) => this.#fold.pending.has(effect.place))
  }

  get #isUnderWay(): boolean {
    const { snapshot, pending, isUnderWay } = this.#fold
    if (snapshot.status !== 'active') return false
    if (this.#asked.size === 0 && this.#left.size === 0) return isUnderWay
    return [...pending.values()].some(
      ({ place, kind }) => kind !== 'waitUntil' && !this.#asked.has(place) && !this.#left.has(place),
    )
  }

  /** Whether something is left that another process has to go on with. */
  get #isInterrupted(): boolean {
    const { snapshot, pending } = this.#fold
    if (snapshot.status !== 'active' || this.#left.size === 0) return false
    return [...pending.values()].some(({ place, kind }) => kind !== 'waitUntil' && this.#left.has(place))
  }

  /** Stops the run as though its agent were closed, and had waited long enough: it is left for another process. */
  interrupt(): void {
    this.#isInterruptedFromAbove = true
    this.#tellShutdown()
  }

  get #stage(): ShutdownStage {
    return this.#isInterruptedFromAbove ? 'over' : this.#shutdown.stage
  }

  #tellShutdown(): void {
    if (this.#stage === 'over') this.#stopped.abort()
    this.#host.rouse()
  }

  /** The tool call that gave no answer because an agent below was closed: another process goes on with it. */
  #interruptedEffect(event: RunEvent): Effect | undefined {
    if (this.#record === undefined || event.type !== 'failed') return undefined
    if (event.error.code !== Interruption.code) return undefined
    const effect = this.#fold.pending.get(event.place)
    return effect?.kind === 'runTool' ? effect : undefined
  }

  /** Stops what is not worth waiting for before the process ends. */
  #leaveEffects(): void {
    for (const effect of this.#fold.pending.values()) {
      if (this.#left.has(effect.place) || this.#asked.has(effect.place)) continue
      if (this.#stage !== 'over' && (effect.kind !== 'sleep' || this.#record === undefined)) continue
      this.#leave(effect)
    }
  }

  #leave(effect: Effect): void {
    this.#left.add(effect.place)
    this.#host.stop(effect.place, new Interruption())
    this.#narrator?.effectGivenUp(effect)
  }

  /** While the agent is being closed, a run that another process can go on with finishes its step and begins no other. */
  #withoutLeft(effects: readonly Effect[]): readonly Effect[] {
    const isOver = this.#stage === 'over'
    const mayStart = ({ kind }: Effect): boolean =>
      !isOver && (kind === 'runTool' || this.#record === undefined)
    for (const effect of effects) if (!mayStart(effect)) this.#left.add(effect.place)
    return effects.filter(mayStart)
  }

  /** What gives calls up tells what they had spent: they will not tell it themselves any more. */
  #withSpending(event: RunEvent): RunEvent {
    if (event.type !== 'cancelled' && !this.#isDeadline(event)) return event
    const spent = [...this.#fold.pending.keys()].flatMap((place) => this.#host.spent(place))
    return spent.length === 0 ? event : { ...event, spent }
  }

  #isDeadline(event: RunEvent): event is Extract<SettlingEvent, { type: 'settled' }> {
    return event.type === 'settled' && this.#fold.pending.get(event.place)?.kind === 'waitUntil'
  }

  get #isActive(): boolean {
    return this.#fold.snapshot.status === 'active'
  }

  /** Deadlines that are over when a run is taken up are judged before anything begins. */
  async #takeDeadlines(): Promise<void> {
    for (const { kind, place, input } of [...this.#fold.pending.values()]) {
      // The time in which a run waits for a person does not count.
      const isDue =
        kind === 'waitUntil' &&
        this.#isUnderWay &&
        this.#fold.elapsedAt(environment().wallNow()) >= input.dueMs
      if (isDue && this.#isActive && this.#fold.pending.has(place)) {
        await this.#take({ type: 'settled', place, output: undefined })
      }
    }
  }

  async #take(event: RunEvent): Promise<void> {
    // It settled while something was recorded that made the machine leave: nobody waits for it any more.
    if ('place' in event && !this.#fold.pending.has(event.place)) return
    const at = environment().wallNow()
    if (this.#record !== undefined) await this.#recordAll([{ type: 'event', at, event }])
    const before = this.#fold.snapshot
    const settled = 'place' in event ? this.#fold.pending.get(event.place) : undefined
    const progress = this.#fold.apply(event, at)
    this.#taken?.(event)
    for (const { place } of progress.stopped) this.#host.stop(place)
    this.#narrator?.happened({ event, settled, before, after: this.#fold.snapshot, progress })
    if (progress.started.length > 0) await this.#startEffects(progress.started)
  }

  async #startEffects(wanted: readonly Effect[]): Promise<void> {
    if (!this.#isCaughtUp) return
    const effects = this.#stage === 'open' ? wanted : this.#withoutLeft(wanted)
    await this.#recordIntents(effects)
    for (const effect of effects) {
      // The word to stop may have come meanwhile: what has not begun need not be stopped.
      if (this.#host.isCancelled || this.#stage === 'over') return
      this.#narrator?.effectStarted(effect)
      this.#host.start(effect)
    }
  }

  #recordIntents(effects: readonly Effect[]): void | Promise<void> {
    if (this.#record === undefined) return
    const intents = effects
      .filter(isAnnounced)
      .map(({ place }): JournalEntry => ({ type: 'intent', at: environment().wallNow(), place }))
    if (intents.length > 0) return this.#recordAll(intents)
  }

  async #recordAll(entries: readonly JournalEntry[]): Promise<void> {
    try {
      if (this.#record === undefined) return
      this.#hasNews = true
      const isRecorded: unknown = await withinGrace(this.#record(entries), this.#stopped.signal)
      if (isRecorded === false) throw new RunLost()
      // Who forgets to say so must not be taken for somebody who has recorded.
      if (isRecorded !== true) throw new TypeError('its append must return whether the entries were added')
    } catch (cause) {
      throw new JournalFailure(cause)
    }
  }

  async #end(): Promise<Ending> {
    const { status, output, error, context } = this.#fold.snapshot
    if (status === 'error') throw error
    // No end is recorded: for the journal the run goes on.
    if (this.#isInterrupted) return this.#interrupted()
    const ending = this.#withShownText(output ?? endingOf(askedOf(context, this.#stillAsked)))
    if (this.#hasNews) await this.#recordAll([lastEntry(ending)])
    return ending
  }

  #interrupted(): Ending {
    const { context } = this.#fold.snapshot
    const message =
      'The agent was closed before the run had ended.' +
      (this.#record === undefined ? '' : ' Its journal is whole: agent.resume goes on with it.')
    return this.#withShownText(
      endingOf({ ...context, ...abort(context, { reason: 'interrupted', message }) }),
    )
  }

  /** Text of a reply that never became whole is better than none. */
  #withShownText(ending: Ending): Ending {
    const shown = this.#narrator?.shown ?? ''
    if (ending.status !== 'aborted' || ending.partial !== undefined || shown === '') return ending
    return { ...ending, partial: shown }
  }

  /** The run cannot go on: something failed that no run should meet. What is known of it is kept. */
  #breakOff(thrown: unknown): Ending {
    for (const place of this.#fold.pending.keys()) this.#host.stop(place)
    const { context } = this.#fold.snapshot
    const [reason, cause, what] =
      thrown instanceof JournalFailure
        ? (['journal_error', thrown.cause, 'The journal failed'] as const)
        : (['internal_error', thrown, 'The run broke off'] as const)
    const error = describeError(cause)
    return endingOf({
      ...context,
      ...abort(context, { reason, message: `${what}: ${error.message}` }),
      error,
    })
  }
}

/**
 * Whether it is recorded that an effect begins: a tool call must not happen twice. Where the memory makes room and where the
 * last answer is asked for, the agent has decided what the journal alone could not tell if the run were stopped then. To
 * ask a model otherwise is what goes without saying.
 */
function isAnnounced({ kind, input }: Effect): boolean {
  return kind === 'runTool' || kind === 'compact' || (kind === 'callModel' && input.toolChoice === 'none')
}

/** Tells a failing journal from a failing machine. */
class JournalFailure extends Error {
  constructor(cause: unknown) {
    super('The journal failed', { cause })
  }
}

/** Somebody else has taken the run up. */
class RunLost extends LoopchartError {
  constructor() {
    super('run_lost', 'somebody else has taken the run up, and it goes on there.')
  }
}

function lastEntry(ending: Ending): JournalEntry {
  const at = environment().wallNow()
  if (ending.status === 'waiting') return { type: 'waiting', at }
  const reason = ending.status === 'aborted' ? { reason: ending.reason } : {}
  return { type: 'ended', at, status: ending.status, ...reason }
}
