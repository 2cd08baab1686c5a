import type { EdgeName } from '../machines/edgeNames.ts'
import type { Message } from '../messages/types.ts'
import type { Replay } from './replay.ts'

/** What happened in one step of a run. */
export interface StepOfRun {
  readonly messages: Message[]
  readonly transitions: EdgeName[]
  /** The limit that fired, and its reaction. */
  limit?: string
  /** Whether more of it may follow: the run stands in it and has not ended. */
  isOpen: boolean
}

/** By step; at 0 what the run began with. An entry belongs to the step in which the run was before it. */
export function stepsOf({ entries, ending }: Replay): readonly StepOfRun[] {
  const steps: StepOfRun[] = []
  let step = 0
  for (const entry of entries) {
    const { messages, transitions, ...happened } = stepAt(steps, step)
    messages.push(...entry.messages)
    transitions.push(...entry.transitions)
    const { verdict } = entry
    if (verdict !== undefined) {
      steps[step] = { ...happened, messages, transitions, limit: `${verdict.limit} (${verdict.reaction})` }
    }
    step = entry.step
  }
  stepAt(steps, step).isOpen = ending === undefined
  return steps
}

/** A step of which nothing is recorded is one in which nothing happened. */
function stepAt(steps: StepOfRun[], step: number): StepOfRun {
  for (let i = steps.length; i <= step; i++) steps.push({ messages: [], transitions: [], isOpen: false })
  return steps[step] as StepOfRun
}
