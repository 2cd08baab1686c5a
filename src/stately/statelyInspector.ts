import type { InspectionEvent } from 'xstate'
import { leafOf, statesOf } from '../graph/states.ts'
import { type AgentMachine, createAgentMachine } from '../machines/agentMachine.ts'
import { stateName } from '../machines/edgeNames.ts'
import type { AgentEvent } from '../runtime/events.ts'
import { ShownActor } from './shownActor.ts'

/** Where inspection goes: an inspector of `@statelyai/inspect`, whichever way it reaches its page. */
export interface InspectionSink {
  readonly inspect: { readonly next?: (event: InspectionEvent) => void }
}

export interface StatelyOptions {
  /** The chart that is shown: `agent.machine`. Default: that of every agent. */
  readonly machine?: AgentMachine
  /**
   * Whether the page is told what was said: replies, arguments and results of tools. The page comes from a public site,
   * though what it is told goes only to the browser. Default: false.
   */
  readonly captureContent?: boolean
}

/**
 * Shows runs in Stately's inspector: each as an actor with the agent's chart, every state that it goes through,
 * transient ones included, and its model and tool calls as actors below it. For agents as they are: nothing has to run as
 * a live XState actor.
 *
 * @param inspector Made by `createWebSocketInspector` or another function of `@statelyai/inspect`.
 * @returns A listener for `onEvent` or `agent.watch`.
 * @example
 * const inspector = createWebSocketInspector({ url: 'ws://localhost:8080' })
 * await agent.run('Hello?', { onEvent: statelyInspector(inspector) })
 */
export function statelyInspector(
  inspector: InspectionSink,
  options: StatelyOptions = {},
): (event: AgentEvent) => void {
  const { machine = createAgentMachine(), captureContent = false } = options
  const shown = new ShownRuns(inspector, machine, captureContent)
  return (event) => shown.see(event)
}

/** A run that is under way. */
interface ShownRun {
  readonly actor: ShownActor
  /** Model and tool calls, by place. */
  readonly calls: Map<string, ShownActor>
}

class ShownRuns {
  readonly #inspector: InspectionSink
  readonly #machine: AgentMachine
  readonly #captureContent: boolean
  /** The state that is active in the end where one is entered, by name. */
  readonly #leaves: ReadonlyMap<string, readonly string[]>
  readonly #runs = new Map<string, ShownRun>()

  constructor(inspector: InspectionSink, machine: AgentMachine, captureContent: boolean) {
    this.#inspector = inspector
    this.#machine = machine
    this.#captureContent = captureContent
    this.#leaves = new Map(statesOf(machine).map((state) => [stateName(state), leafOf(state).path]))
  }

  see(event: AgentEvent): void {
    if (event.type === 'run.started') this.#begin(event)
    const run = this.#runs.get(event.runId)
    if (run !== undefined) this.#show(run, event)
    if (event.type === 'run.finished') this.#runs.delete(event.runId)
  }

  #begin({ runId, state, resumed }: Extract<AgentEvent, { type: 'run.started' }>): void {
    const actor = new ShownActor(this.#inspector, {
      id: runId,
      logic: this.#machine,
      snapshot: { status: 'active', value: this.#valueOf(state), context: { resumed } },
    })
    this.#runs.set(runId, { actor, calls: new Map() })
  }

  #show(run: ShownRun, event: AgentEvent): void {
    const { actor } = run
    switch (event.type) {
      case 'transition': {
        const { from, to, event: cause, guard, verdict } = event
        const name = guard === undefined ? cause : `${cause} [${guard}]`
        const value = to === undefined ? {} : { value: this.#valueOf(to) }
        actor.change({ type: name, from, ...(verdict === undefined ? {} : { verdict }) }, value)
        break
      }
      case 'usage.updated': {
        const { usage, cost } = event
        actor.change({ type: event.type }, { context: { usage, ...(cost === undefined ? {} : { cost }) } })
        break
      }
      case 'limit.warned':
        actor.receive({ type: event.type, limit: event.warning.limit })
        break
      case 'limit.reached':
        actor.receive({ type: event.type, limit: event.verdict.limit })
        break
      case 'model.started':
        this.#beginCall(run, event.place, 'model', {})
        break
      case 'model.finished': {
        const { reply } = event
        const facts = { finish: reply.finish, usage: reply.usage }
        this.#endCall(run, event.place, 'done', this.#captureContent ? { ...facts, ...reply } : facts)
        break
      }
      case 'model.failed':
        this.#endCall(run, event.place, 'error', event.error)
        break
      case 'tool.started': {
        const context = this.#captureContent ? { arguments: event.arguments } : {}
        this.#beginCall(run, event.place, event.name, context)
        break
      }
      case 'tool.finished': {
        const { error, content } = event
        const facts = {
          ...(error === undefined ? {} : { error }),
          ...(this.#captureContent ? { content } : {}),
        }
        this.#endCall(run, event.place, error === undefined ? 'done' : 'error', facts)
        break
      }
      case 'run.finished': {
        const { status } = event.outcome
        const output = status === 'aborted' ? { status, reason: event.outcome.reason } : { status }
        // A run that waits for a person is active for XState.
        if (status !== 'waiting') actor.change({ type: event.type }, { status: 'done', output })
        break
      }
    }
  }

  #beginCall(run: ShownRun, place: string, name: string, context: Readonly<Record<string, unknown>>): void {
    const { actor } = run
    const call = new ShownActor(this.#inspector, {
      id: place,
      name: `${name} ${place}`,
      parent: actor,
      snapshot: { status: 'active', context },
    })
    run.calls.set(place, call)
  }

  #endCall({ calls }: ShownRun, place: string, status: 'done' | 'error', told: unknown): void {
    const end = status === 'done' ? { status, output: told } : { status, error: told }
    calls.get(place)?.change({ type: status }, end)
    calls.delete(place)
  }

  /** `{ thinking: 'calling' }` for `thinking` and for `thinking.calling`. */
  #valueOf(name: string): unknown {
    const path = this.#leaves.get(name) ?? name.split('.')
    return path.reduceRight<unknown>(
      (inner, key) => (inner === undefined ? key : { [key]: inner }),
      undefined,
    )
  }
}
