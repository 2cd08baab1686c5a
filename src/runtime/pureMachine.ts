import {
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
  /** The edges that were taken, as XState defines them; `edgeName` puts them in words. */
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
  readonly #scope: ActorScope<AgentSnapshot, AgentMachineEvent>
  #started: Effect[] = []
  #stopped: string[] = []
  #taken: AnyTransitionDefinition[] = []

  constructor(machine: AgentMachine) {
    this.#machine = machine
    const self = createActor(machine, {
      input: '',
      inspect: (inspected) => {
        if (inspected.type !== '@xstate.microstep') return
        this.#taken.push(...inspected._transitions)
      },
    })
    this.#scope = {
      self,
      id: self.id,
      sessionId: self.sessionId,
      system: self.system,
      logger: () => {},
      defer: () => {},
      emit: () => {},
      stopChild: () => {},
      actionExecutor: (action) => {
        if (action.type === 'xstate.spawnChild') this.#started.push(effectOf(action))
        else if (action.type === 'xstate.stopChild') this.#stopped.push(actorIdOf(action))
      },
    }
  }

  start(input: AgentInput): Step {
    return this.#collect(() => this.#machine.getInitialSnapshot(this.#scope, input))
  }

  step(snapshot: AgentSnapshot, event: AgentMachineEvent): Step {
    return this.#collect(() => this.#machine.transition(snapshot, event, this.#scope))
  }

  #collect(next: () => AgentSnapshot): Step {
    this.#started = []
    this.#stopped = []
    this.#taken = []
    const snapshot = next()
    return { snapshot, started: this.#started, stopped: this.#stopped, taken: this.#taken }
  }
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
