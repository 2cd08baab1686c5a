import {
  type Actor,
  type ActorScope,
  type AnyTransitionDefinition,
  createActor,
  type ExecutableActionObject,
  type SnapshotFrom,
} from 'xstate'
import type { AgentMachine, AgentMachineEvent } from '../machines/agentMachine.ts'
import type { AgentInput } from '../machines/context.ts'
import type { EffectKind, EffectMap } from '../machines/effects.ts'

export type AgentSnapshot = SnapshotFrom<AgentMachine>

/** An effect that the machine asks for. `place` says where in the run, the same in every replay. */
export type Effect = {
  [Kind in EffectKind]: {
    readonly kind: Kind
    readonly place: string
    /** The id of the actor that stands for it on the chart. */
    readonly actorId: string
    readonly input: EffectMap[Kind]['input']
  }
}[EffectKind]

/** What one event did to the machine. */
export interface Step {
  readonly snapshot: AgentSnapshot
  readonly started: readonly Effect[]
  /** Ids of actors that the machine no longer wants. */
  readonly stopped: readonly string[]
  /** The edges that were taken, for a step that is watched; `edgeName` puts them in words. */
  readonly taken: readonly AnyTransitionDefinition[]
}

/**
 * The machine as a pure function. Nothing is run: the actors that it would start come back as effects.
 *
 * This does what XState's `initialTransition` and `transition` do, with one scope for all calls, because making a
 * scope takes longer than a transition. Calls are synchronous, so concurrent runs can share one.
 */
export class PureMachine {
  readonly #machine: AgentMachine
  readonly #quiet: Scope
  /** Tells of each edge that is taken, which costs something at every microstep. */
  readonly #watched: Scope
  #asked: Asked = nothingAsked()

  constructor(machine: AgentMachine) {
    this.#machine = machine
    this.#quiet = this.#scope(createActor(machine, { input: '' }))
    this.#watched = this.#scope(
      createActor(machine, {
        input: '',
        inspect: (inspected) => {
          if (inspected.type === '@xstate.microstep') this.#asked.taken.push(...inspected._transitions)
        },
      }),
    )
  }

  start(input: AgentInput, watched = false): Step {
    const scope = watched ? this.#watched : this.#quiet
    return this.#collect(() => this.#machine.getInitialSnapshot(scope, input))
  }

  /** @param watched Whether the edges that are taken are to be told. */
  step(snapshot: AgentSnapshot, event: AgentMachineEvent, watched = false): Step {
    const scope = watched ? this.#watched : this.#quiet
    return this.#collect(() => this.#machine.transition(snapshot, event, scope))
  }

  #collect(next: () => AgentSnapshot): Step {
    // A guard of the user's may run another machine meanwhile.
    const outer = this.#asked
    const asked = nothingAsked()
    this.#asked = asked
    try {
      return { snapshot: next(), ...asked }
    } finally {
      this.#asked = outer
    }
  }

  /** What XState's own pure functions make anew for every call: a scope in which nothing runs. */
  #scope(self: Actor<AgentMachine>): Scope {
    return {
      self,
      id: self.id,
      sessionId: self.sessionId,
      system: self.system,
      logger: () => {},
      defer: () => {},
      emit: () => {},
      stopChild: () => {},
      actionExecutor: (action) => {
        if (action.type === 'xstate.spawnChild') this.#asked.started.push(effectOf(action))
        else if (action.type === 'xstate.stopChild') this.#asked.stopped.push(actorIdOf(action))
      },
    }
  }
}

type Scope = ActorScope<AgentSnapshot, AgentMachineEvent>

/** What the machine asks for during one step. */
interface Asked {
  readonly started: Effect[]
  readonly stopped: string[]
  readonly taken: AnyTransitionDefinition[]
}

function nothingAsked(): Asked {
  return { started: [], stopped: [], taken: [] }
}

/** The effect behind the action that starts an actor. XState types its parameters for all actors alike. */
function effectOf({ params }: ExecutableActionObject): Effect {
  const { id, src, input } = params as { id: string; src: EffectKind; input: { place: string } }
  return { kind: src, place: input.place, actorId: id, input } as Effect
}

/** `stopChild` comes with the actor itself. */
function actorIdOf({ params }: ExecutableActionObject): string {
  return (params as unknown as { id: string } | undefined)?.id ?? ''
}

/** The state of a snapshot, as transitions name it: `thinking.calling`. */
export function stateOf({ value }: AgentSnapshot): string {
  return typeof value === 'string' ? value : Object.entries(value).flat().join('.')
}
