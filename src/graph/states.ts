import type { AnyStateMachine, AnyStateNode } from 'xstate'

/** Every state of a machine but the root, parents before children, in the order in which they were written. */
export function statesOf({ root }: AnyStateMachine): readonly AnyStateNode[] {
  return childrenOf(root).flatMap(withDescendants)
}

export function childrenOf(state: AnyStateNode): readonly AnyStateNode[] {
  return Object.values(state.states)
}

export function isComposite(state: AnyStateNode): boolean {
  return childrenOf(state).length > 0
}

/** Whether a state is another one or lies within it. */
export function isWithin(state: AnyStateNode, outer: AnyStateNode): boolean {
  return state === outer || (state.parent !== undefined && isWithin(state.parent, outer))
}

/** The children that are entered with a state: one, or all of them where they run in parallel. */
export function enteredWith(state: AnyStateNode): readonly AnyStateNode[] {
  if (state.type === 'parallel') return childrenOf(state).filter(({ type }) => type !== 'history')
  return isComposite(state) ? (state.initial.target ?? []) : []
}

function withDescendants(state: AnyStateNode): readonly AnyStateNode[] {
  return [state, ...childrenOf(state).flatMap(withDescendants)]
}
