import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate'
import { eventLabel, guardLabel } from './labels.ts'
import { stateName, statesOf } from './states.ts'

/** One edge of a chart. The names are those that the `transition` events of a run carry. */
export interface Edge {
  readonly from: string
  /** Absent where the edge stays in its state. */
  readonly to?: string
  /** The event's type as XState has it; `always` for an edge that needs none. */
  readonly event: string
  /** Absent where the edge has none. */
  readonly guard?: string
  /** Event and guard for people, such as `model failed [isRetryable]`. `[else]`: no guard before it has passed. */
  readonly label: string
}

/** An edge between the states themselves. */
export interface StateEdge {
  readonly source: AnyStateNode
  readonly target: AnyStateNode | undefined
  readonly edge: Edge
}

/**
 * Every edge of a machine: all candidates of every event and the `always` edges, in the order in which XState tries
 * them. An edge with several targets (of a parallel state) counts once for each.
 */
export function edgesOf(machine: AnyStateMachine): readonly Edge[] {
  return stateEdgesOf(machine).map(({ edge }) => edge)
}

/** What `edgesOf` is made of, for drawings that need the states. */
export function stateEdgesOf(machine: AnyStateMachine): readonly StateEdge[] {
  return [machine.root, ...statesOf(machine)].flatMap((state) => [
    ...[...state.transitions.values()].flatMap(edgesOfCandidates),
    ...edgesOfCandidates(state.always ?? []),
  ])
}

/** The edges of candidates that wait for the same event. */
function edgesOfCandidates(candidates: readonly AnyTransitionDefinition[]): readonly StateEdge[] {
  return candidates.flatMap((candidate, i) => {
    const isElse = candidates.slice(0, i).some(({ guard }) => guard !== undefined)
    const targets = candidate.target ?? [undefined]
    return targets.map((target) => stateEdge(candidate, target, isElse))
  })
}

function stateEdge(
  { source, guard, eventType }: AnyTransitionDefinition,
  target: AnyStateNode | undefined,
  isElse: boolean,
): StateEdge {
  const event = eventType === '' ? 'always' : eventType
  const guardName = guardLabel(guard)
  const condition = guardName ?? (isElse ? 'else' : undefined)
  const label = eventLabel(event, source)
  return {
    source,
    target,
    edge: {
      from: stateName(source),
      ...(target === undefined ? {} : { to: stateName(target) }),
      event,
      ...(guardName === undefined ? {} : { guard: guardName }),
      label: condition === undefined ? label : `${label} [${condition}]`,
    },
  }
}
