import { LoopchartError } from '../errors.ts'
import type { RunEvent, SettlingEvent } from '../journal/entry.ts'
import type { AgentMachineEvent } from '../machines/agentMachine.ts'
import type { AgentInput } from '../machines/context.ts'
import type { AgentSnapshot, Effect, PureMachine, Step } from './pureMachine.ts'
import { RunClock } from './runClock.ts'

/** What an event changed. */
export interface Progress {
  readonly started: readonly Effect[]
  /** Effects that had not settled and are no longer wanted. */
  readonly stopped: readonly Effect[]
  /** The edges of the chart that were taken, where they are watched. */
  readonly taken: Step['taken']
}

/**
 * The state of a run as a fold over what has happened to it. It performs nothing, so folding the same events again
 * (to resume, to replay, to look back) gives the same states and calls nobody.
 */
export class Fold {
  readonly #machine: PureMachine
  readonly #watched: boolean
  readonly #pending = new Map<string, Effect>()
  readonly #clock: RunClock
  #snapshot: AgentSnapshot
  /** What the run began with, before anything happened. */
  readonly beginning: Progress

  /**
   * @param startedAt When the run began, in milliseconds since 1970.
   * @param watched Whether the edges that are taken are to be told.
   */
  constructor(machine: PureMachine, input: AgentInput, startedAt: number, watched = false) {
    this.#machine = machine
    this.#watched = watched
    this.#clock = new RunClock(startedAt)
    const step = machine.start(input, watched)
    // XState keeps what the making of the context threw; a run cannot begin from that.
    if (step.snapshot.status === 'error') throw step.snapshot.error
    this.#snapshot = step.snapshot
    this.beginning = this.#follow(step)
  }

  get snapshot(): AgentSnapshot {
    return this.#snapshot
  }

  /** Effects that have been asked for and have not settled, by place. */
  get pending(): ReadonlyMap<string, Effect> {
    return this.#pending
  }

  /** Whether anything is under way. A run that has not ended and of which nothing is, waits for a person. */
  get isUnderWay(): boolean {
    for (const { kind } of this.#pending.values()) if (kind !== 'waitUntil') return true
    return false
  }

  /** How long the run has been under way at a time, in milliseconds; time in which it waited for a person left out. */
  elapsedAt(at: number): number {
    return this.#clock.elapsedAt(at)
  }

  /** Takes in that the run was handed back until a person decides, at a time in milliseconds since 1970. */
  handBack(at: number): void {
    this.#clock.handBack(at, !this.isUnderWay)
  }

  /** Takes in that somebody has taken the run up again. */
  goOn(at: number): void {
    this.#clock.goOn(at, !this.isUnderWay)
  }

  /**
   * Takes one event in.
   *
   * @param at When it happened, in milliseconds since 1970.
   * @throws LoopchartError `not_asked_for` where an effect settles that the machine has not asked for.
   */
  apply(event: RunEvent, at: number): Progress {
    const elapsedMs = this.#clock.tick(at, !this.isUnderWay)
    const step = this.#machine.step(this.#snapshot, this.#machineEvent(event, elapsedMs), this.#watched)
    this.#snapshot = step.snapshot
    return this.#follow(step)
  }

  #machineEvent(event: RunEvent, elapsedMs: number): AgentMachineEvent {
    switch (event.type) {
      case 'cancelled':
        return { ...event, type: 'CANCEL', elapsedMs }
      case 'decided':
        return { type: 'DECIDE', decision: event.decision, elapsedMs }
      case 'sent':
        return { type: 'SEND', message: event.message, elapsedMs }
      default:
        return this.#settling(event, elapsedMs)
    }
  }

  /** An actor's completion, as XState itself would report it. */
  #settling(event: SettlingEvent, elapsedMs: number): AgentMachineEvent {
    const effect = this.#pending.get(event.place)
    if (effect === undefined) {
      throw new LoopchartError(
        'not_asked_for',
        `"${event.place}" settled, but the machine asks for ${[...this.#pending.keys()].join(', ') || 'nothing'}.`,
      )
    }
    this.#pending.delete(event.place)
    const { actorId } = effect
    const completion =
      event.type === 'settled'
        ? { ...event, type: `xstate.done.actor.${actorId}`, actorId, elapsedMs }
        : { type: `xstate.error.actor.${actorId}`, error: event.error, actorId, elapsedMs }
    // XState's type for events leaves out the completions of invoked actors.
    return completion as AgentMachineEvent
  }

  #follow({ started, stopped, taken }: Step): Progress {
    const unwanted = [...this.#pending.values()].filter(({ actorId }) => stopped.includes(actorId))
    for (const { place } of unwanted) this.#pending.delete(place)
    for (const effect of started) this.#pending.set(effect.place, effect)
    return { started, stopped: unwanted, taken }
  }
}
