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

/** The innermost state that is entered first with a state. */
export function leafOf(state: AnyStateNode): AnyStateNode {
  const [entered] = enteredWith(state)
  return entered === undefined ? state : leafOf(entered)
}

/**
 * Where a drawn edge arrives. No drawing can have one from a state to another around it, so it goes to what is entered
 * with that.
 */
export function entryFrom(source: AnyStateNode, target: AnyStateNode): AnyStateNode {
  if (!isWithin(source, target)) return target
  const [entered] = enteredWith(target)
  return entered === undefined ? target : entryFrom(source, entered)
}

/** Whether a state is the whole machine around others, so that a drawing has no box for it. */
export function isFrame(state: AnyStateNode): boolean {
  return state.parent === undefined && isComposite(state)
}

/** Whether an edge holds for whatever is active within its source and leads nowhere else: it leaves from within. */
export function leavesFromWithin(source: AnyStateNode, target: AnyStateNode | undefined): boolean {
  return isFrame(source) || (isComposite(source) && (target === undefined || isWithin(target, source)))
}

function withDescendants(state: AnyStateNode): readonly AnyStateNode[] {
  return [state, ...childrenOf(state).flatMap(withDescendants)]
}
