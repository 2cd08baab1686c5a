import type { AnyActorLogic, AnyActorRef, AnyEventObject, InspectionEvent } from 'xstate'
import type { InspectionSink } from './statelyInspector.ts'

/** What is shown of an actor's state. */
interface Shown {
  readonly status: 'active' | 'done' | 'error'
  readonly value?: unknown
  readonly context?: Readonly<Record<string, unknown>>
  readonly output?: unknown
  readonly error?: unknown
}

interface ActorFacts {
  /** Tells it from its siblings. */
  readonly id: string
  /** Default: the id. */
  readonly name?: string
  readonly snapshot: Shown
  /** The machine that it runs. */
  readonly logic?: AnyActorLogic
  readonly parent?: ShownActor
}

/** An actor as an inspector sees it: there is none behind it. */
export class ShownActor {
  readonly sessionId: string
  readonly rootId: string
  readonly #inspector: InspectionSink
  readonly #ref: AnyActorRef
  #snapshot: Shown

  constructor(inspector: InspectionSink, { id, name = id, snapshot, logic, parent }: ActorFacts) {
    this.#inspector = inspector
    this.#snapshot = snapshot
    this.sessionId = parent === undefined ? id : `${parent.sessionId}/${id}`
    this.rootId = parent?.rootId ?? this.sessionId
    // An inspector reads nothing else of an actor.
    this.#ref = {
      id: name,
      sessionId: this.sessionId,
      ...(logic === undefined ? {} : { logic }),
      ...(parent === undefined ? {} : { _parent: parent.#ref }),
      getSnapshot: () => snapshot,
    } as unknown as AnyActorRef
    this.#tell({ type: '@xstate.actor' })
  }

  /** Something reached it that changes nothing. */
  receive(event: AnyEventObject): void {
    this.#tell({ type: '@xstate.event', sourceRef: undefined, event })
  }

  /** An event changed it. */
  change(event: AnyEventObject, { context, ...changes }: Partial<Shown>): void {
    this.receive(event)
    this.#snapshot = {
      ...this.#snapshot,
      ...changes,
      ...(context === undefined ? {} : { context: { ...this.#snapshot.context, ...context } }),
    }
    this.#tell({ type: '@xstate.snapshot', event, snapshot: this.#snapshot })
  }

  #tell(facts: { readonly type: `@xstate.${string}`; readonly [fact: string]: unknown }): void {
    const event = { ...facts, rootId: this.rootId, actorRef: this.#ref } as unknown as InspectionEvent
    this.#inspector.inspect.next?.(event)
  }
}
