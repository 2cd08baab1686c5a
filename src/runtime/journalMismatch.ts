import { LoopchartError } from '../errors.ts'

/** Where the steps that are recorded part from those that an agent would take. */
export interface MismatchFacts {
  /** The position in the journal of the entry that does not fit, counted from 0. */
  readonly position: number
  /** What it tells of: the place of an effect (`model.3.1`), or `the end of the run (done)`. */
  readonly recorded: string
  /** The places of the effects that the machine asks for at that point. */
  readonly asked: readonly string[]
  /** How the run has ended for this agent by then; absent where it has not. */
  readonly ended?: string | undefined
  /** What of the agent is another than when the run began, as far as that is known: `tools`, `instructions`, … */
  readonly changed: readonly string[]
}

/**
 * The steps that a journal tells of are not those that this agent would take: it was recorded by an agent that worked
 * otherwise. Its code is `journal_mismatch`.
 */
export class JournalMismatchError extends LoopchartError implements MismatchFacts {
  readonly position: number
  readonly recorded: string
  readonly asked: readonly string[]
  readonly ended: string | undefined
  readonly changed: readonly string[]

  constructor(runId: string, { position, recorded, asked, ended, changed }: MismatchFacts) {
    super(
      'journal_mismatch',
      `The journal of run "${runId}" tells of ${recorded} at position ${position}, where this agent ` +
        `${ended === undefined ? `asks for ${asked.join(', ') || 'nothing'}` : `has ended the run (${ended})`}. It was recorded by an agent that worked otherwise` +
        (changed.length === 0 ? '. ' : ` (changed since: ${changed.join(', ')}). `) +
        'Resume it with the agent that it was recorded by, or go on from what is recorded with ' +
        `agent.resume("${runId}", { migrate: true }).`,
    )
    this.position = position
    this.recorded = recorded
    this.asked = asked
    this.ended = ended
    this.changed = changed
  }
}
