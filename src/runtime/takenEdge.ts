import type { AnyTransitionDefinition } from 'xstate'
import { type EdgeName, edgeName } from '../machines/edgeNames.ts'
import { type AgentSnapshot, stateOf } from './pureMachine.ts'

/** An edge that a run has taken. One of the whole chart leaves whatever state the run was in. */
export function takenEdge(edge: AnyTransitionDefinition, before: AgentSnapshot | undefined): EdgeName {
  const name = edgeName(edge)
  return edge.source.parent === undefined && before !== undefined ? { ...name, from: stateOf(before) } : name
}
