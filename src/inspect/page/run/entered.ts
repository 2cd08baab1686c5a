/** Where the chart comes to stand when an edge leads to a state that has states of its own. */
const initialStates: ReadonlyMap<string, string> = new Map([
  ['thinking', 'thinking.calling'],
  ['observing', 'observing.recording'],
  ['concluding', 'concluding.calling'],
])

/** The innermost state that is entered with a state. */
export function enteredWith(state: string): string {
  return initialStates.get(state) ?? state
}
