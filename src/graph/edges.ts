import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate'
import { type EdgeName, edgeName } from '../machines/edgeNames.ts'
import { statesOf } from './states.ts'

/** One edge of a chart, in the words that the `transition` events of a run use too. */
export interface Edge extends EdgeName {
  /** Event and guard for people, such as `model failed [isRetryable]`. */
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
  return candidates.flatMap((candidate) => {
    const targets = candidate.target ?? [undefined]
    return targets.map((target) => {
      const name = edgeName(candidate, target)
      const condition = name.guard === undefined ? '' : ` [${name.guard}]`
      return { source: candidate.source, target, edge: { ...name, label: `${name.event}${condition}` } }
    })
  })
}
