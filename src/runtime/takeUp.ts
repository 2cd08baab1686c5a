import { environment } from '../environment.ts'
import type { JournalEntry } from '../journal/entry.ts'
import type { AgentFingerprint } from '../journal/fingerprint.ts'
import type { AgentMachine } from '../machines/agentMachine.ts'
import type { Doubt } from './doubts.ts'
import { Fold } from './fold.ts'
import { foldJournal } from './journalFold.ts'
import { JournalMismatchError } from './journalMismatch.ts'
import { migratedInput, recordedRun } from './migrate.ts'
import type { PureMachine } from './pureMachine.ts'

/** Where a run stands that is taken up again. */
export interface TakenUp {
  readonly fold: Fold
  /** Tool calls that had begun and did not report. */
  readonly inDoubt: readonly Doubt[]
  /** What says in the journal that another agent goes on with the run, where one does. */
  readonly migration?: JournalEntry
}

export interface TakeUpOptions {
  readonly runId: string
  readonly watched: boolean
  readonly agent: AgentFingerprint
  readonly machine: AgentMachine
  /** Whether to go on where the recorded steps are not those of this agent. */
  readonly migrate: boolean
}

/** @throws JournalMismatchError where they are not, and the run is not to be migrated. */
export function takeUp(
  pure: PureMachine,
  entries: readonly JournalEntry[],
  { machine, migrate, ...options }: TakeUpOptions,
): TakenUp {
  try {
    return foldJournal(pure, entries, options)
  } catch (thrown) {
    if (!migrate || !(thrown instanceof JournalMismatchError)) throw thrown
    const recorded = recordedRun(machine, entries, options.runId)
    if (recorded.fold.snapshot.status !== 'active') return { fold: recorded.fold, inDoubt: [] }
    const input = migratedInput(recorded)
    const at = environment().wallNow()
    const fold = new Fold(pure, input, at - (input.carried?.elapsedMs ?? 0), options.watched)
    return {
      fold,
      inDoubt: [],
      migration: { type: 'migrated', at, input, agent: options.agent },
    }
  }
}
