import type { AnyStateMachine } from 'xstate'
import { Drawing } from './drawing.ts'
import type { Notes } from './notes.ts'

export interface DotOptions {
  /**
   * Notes beside states: lines of text, by the state's name such as `thinking.calling`. A note beside a state that has
   * states within it is put beside the one that is entered first. Default: none.
   */
  readonly notes?: Notes
  /** Whether states show their descriptions. Default: true. */
  readonly descriptions?: boolean
}

/**
 * Draws any XState machine in Graphviz's language: all states, composite ones as clusters, and all edges with their
 * guards. An edge that needs no event is labelled with its guard alone. States stand below each other in the order in
 * which they were written, as far as edges lead from one to the next. An edge that a composite state has for whatever is
 * active within it leaves from a box called "any state". Where the history of a history state leads when there is none
 * yet is not drawn.
 *
 * @throws MisuseError `unknown_state` for a note beside a state that the machine does not have.
 */
export function toDot(
  machine: AnyStateMachine,
  { notes = {}, descriptions = true }: DotOptions = {},
): string {
  return new Drawing(machine, notes, descriptions).dot()
}
