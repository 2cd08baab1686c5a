import type { AnyStateMachine, AnyStateNode } from 'xstate'
import { MisuseError } from '../errors.ts'
import { stateName } from '../machines/edgeNames.ts'
import { leafOf, statesOf } from './states.ts'

/** Lines of text by the name of the state that they are put beside, such as `thinking.calling`. */
export type Notes = Readonly<Record<string, readonly string[]>>

/**
 * The notes of a machine by state. One beside a composite state goes to the state that is entered first within it.
 *
 * @throws MisuseError `unknown_state` for a note beside a state that the machine does not have.
 */
export function notesByState(
  machine: AnyStateMachine,
  notes: Notes,
): ReadonlyMap<AnyStateNode, readonly string[]> {
  const states = statesOf(machine)
  const byState = new Map<AnyStateNode, readonly string[]>()
  for (const [name, lines] of Object.entries(notes)) {
    const named = [...states, machine.root].find((state) => stateName(state) === name)
    if (named === undefined) throw unknownState(name, states)
    const state = leafOf(named)
    byState.set(state, [...(byState.get(state) ?? []), ...lines])
  }
  return byState
}

function unknownState(name: string, states: readonly AnyStateNode[]): MisuseError {
  return new MisuseError(
    'unknown_state',
    `There is no state "${name}" to put a note beside. States: ${states.map(stateName).join(', ')}.`,
  )
}
