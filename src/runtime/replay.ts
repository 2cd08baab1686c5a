import type { JournalEntry, RunStatus } from '../journal/entry.ts'
import { type AgentMachine, createAgentMachine } from '../machines/agentMachine.ts'
import type { EdgeName } from '../machines/edgeNames.ts'
import type { Verdict, Warning } from '../machines/limits/judgement.ts'
import type { Ending } from '../machines/outcome.ts'
import type { Message } from '../messages/types.ts'
import { JournalFold } from './journalFold.ts'
import { ledMachine, type Reading } from './ledMachine.ts'
import { newWarnings } from './newWarnings.ts'
import { PureMachine, stateOf } from './pureMachine.ts'
import { takenEdge } from './takenEdge.ts'

/** A run as its journal tells it. */
export interface Replay {
  readonly runId: string
  /** Where the run stood when its journal was read. */
  readonly status: RunStatus
  /** What each entry of the journal brought about, in order. */
  readonly entries: readonly ReplayedEntry[]
  /** How the run ended; absent where it has not. */
  readonly ending?: Ending
}

/** What one entry of a journal brought about. */
export interface ReplayedEntry {
  /** Its position in the journal, counted from 0. */
  readonly position: number
  readonly entry: JournalEntry
  /** The step that the run was in afterwards: model calls that could ask for tools; 0 before the first. */
  readonly step: number
  /** The state that the run was in afterwards, such as `thinking.calling`. */
  readonly state: string
  /** The edges of the chart that were taken, in order, each with the guard that decided. */
  readonly transitions: readonly EdgeName[]
  /** The messages that entered the transcript. */
  readonly messages: readonly Message[]
  /** What limits warned of. */
  readonly warnings: readonly Warning[]
  /** The limit that fired. */
  readonly verdict?: Verdict
}

export interface ReplayOptions {
  /** Names the run in the replay and in errors. Default: `unnamed`. */
  readonly runId?: string
  /**
   * The machine of an agent: `agent.machine`. Only an agent knows its own limits and its memory, and what they would have
   * decided where the journal breaks off. Default: one with neither.
   */
  readonly machine?: AgentMachine
}

/**
 * Tells a run again from its journal: every state, every transition with the guard that decided, every message. It
 * shows what happened, not what an agent would do today, and calls nobody.
 *
 * @throws JournalError or JournalMismatchError where the entries cannot be the journal of a run.
 */
export function replay(entries: readonly JournalEntry[], options: ReplayOptions = {}): Replay {
  const { runId = 'unnamed', machine = createAgentMachine() } = options
  return new Replaying(machine, entries, runId).replay()
}

class Replaying {
  readonly #entries: readonly JournalEntry[]
  readonly #runId: string
  readonly #reading: Reading = { position: 0 }
  readonly #journal: JournalFold

  constructor(machine: AgentMachine, entries: readonly JournalEntry[], runId: string) {
    this.#entries = entries
    this.#runId = runId
    const led = new PureMachine(ledMachine(machine, entries, this.#reading))
    this.#journal = new JournalFold(led, { runId, watched: true })
  }

  replay(): Replay {
    const replayed = this.#entries.map((entry, position) => this.#take(entry, position))
    const { output } = this.#journal.fold.snapshot
    return {
      runId: this.#runId,
      status: output?.status ?? (this.#entries.at(-1)?.type === 'waiting' ? 'waiting' : 'running'),
      entries: replayed,
      ...(output === undefined ? {} : { ending: output }),
    }
  }

  #take(entry: JournalEntry, position: number): ReplayedEntry {
    this.#reading.position = position
    const before = position === 0 ? undefined : this.#journal.fold.snapshot
    const { taken } = this.#journal.take(entry)
    const after = this.#journal.fold.snapshot
    const { transcript, step, verdict, warnings } = after.context
    return {
      position,
      entry,
      step,
      state: stateOf(after),
      transitions: taken.map((edge) => takenEdge(edge, before)),
      messages: transcript.toArray(before?.context.transcript.length),
      warnings: newWarnings(before?.context.warnings, warnings),
      ...(verdict === undefined || verdict === before?.context.verdict ? {} : { verdict }),
    }
  }
}
