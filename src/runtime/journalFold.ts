import { JournalError } from '../errors.ts'
import { changedParts } from '../journal/changedParts.ts'
import type { JournalEntry } from '../journal/entry.ts'
import type { AgentFingerprint } from '../journal/fingerprint.ts'
import type { AbortReason, Ending } from '../machines/outcome.ts'
import type { Decision } from '../machines/reducers.ts'
import { type Doubt, decidedCall } from './doubts.ts'
import { Fold, type Progress } from './fold.ts'
import { JournalMismatchError } from './journalMismatch.ts'
import type { Effect, PureMachine } from './pureMachine.ts'

export interface JournalFoldOptions {
  readonly runId: string
  /** Whether the edges that are taken are to be told. */
  readonly watched: boolean
  /** The agent that reads, so that a journal which does not fit can say what has changed. */
  readonly agent?: AgentFingerprint | undefined
}

const nothing: Progress = { started: [], stopped: [], taken: [] }

/** Takes in the entries of a journal one by one, and checks each against what the machine asks for. */
export class JournalFold {
  readonly #machine: PureMachine
  readonly #options: JournalFoldOptions
  /** How often the tool call at a place has begun. */
  readonly #begun = new Map<string, number>()
  /** Places of tool calls that a person has let run once more. */
  readonly #approved = new Set<string>()
  /** Those that have not begun since. */
  readonly #toBegin = new Set<string>()
  #fold: Fold | undefined
  #recordedBy: AgentFingerprint | undefined
  #position = 0
  #hasEnded = false

  /** @param first The position in the journal of the entry that is taken in first. */
  constructor(machine: PureMachine, options: JournalFoldOptions, first = 0) {
    this.#machine = machine
    this.#options = options
    this.#position = first
  }

  /**
   * @throws JournalError `journal_invalid` for a journal that does not begin with its start, or is of another version.
   * @throws JournalMismatchError for an entry that tells of something else than the machine asks for.
   */
  take(entry: JournalEntry): Progress {
    const progress = this.#progress(entry)
    this.#position++
    return progress
  }

  /** The state of the run. There is one once the first entry has been taken in. */
  get fold(): Fold {
    return this.#fold ?? this.#invalid('does not begin with "started"')
  }

  /** Whether the end of the run is recorded. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Effects that are asked for and that nobody has started. */
  get unstarted(): readonly Effect[] {
    return this.#pending.filter(({ place }) => !this.#begun.has(place) || this.#toBegin.has(place))
  }

  /** Tool calls that had begun and did not report: whether they had an effect is unknown. */
  get inDoubt(): readonly Doubt[] {
    return this.#pending.flatMap((effect) => {
      const { kind, place } = effect
      const begun = this.#begun.get(place)
      if (kind !== 'runTool' || begun === undefined || this.#toBegin.has(place)) return []
      return [{ effect, begun, wasApproved: this.#approved.has(place) }]
    })
  }

  get #pending(): readonly Effect[] {
    return [...this.fold.pending.values()]
  }

  #progress(entry: JournalEntry): Progress {
    switch (entry.type) {
      case 'started':
        if (entry.version !== 1) {
          this.#invalid(
            `has version ${String(entry.version)}; this Loopchart reads version 1. Update Loopchart`,
          )
        }
        return this.#begin(entry)
      case 'migrated':
        return this.#begin(entry)
      case 'intent':
        this.#require(entry.place, `the beginning of ${entry.place}`)
        this.#beginEffect(entry.place)
        return nothing
      case 'event':
        return this.#takeEvent(entry)
      case 'waiting':
        this.fold.handBack(entry.at)
        return nothing
      case 'resumed':
        this.fold.goOn(entry.at)
        return nothing
      case 'ended':
        this.#requireEnd(entry)
        this.#hasEnded = true
        return nothing
      default:
        return nothing
    }
  }

  #begin({ at, input, agent }: Extract<JournalEntry, { type: 'started' | 'migrated' }>): Progress {
    this.#recordedBy = agent
    this.#fold = new Fold(this.#machine, input, at - (input.carried?.elapsedMs ?? 0), this.#options.watched)
    return this.#fold.beginning
  }

  /** Asking a model once more is harmless. */
  #beginEffect(place: string): void {
    if (this.fold.pending.get(place)?.kind !== 'runTool') return
    this.#begun.set(place, (this.#begun.get(place) ?? 0) + 1)
    this.#toBegin.delete(place)
  }

  #takeEvent({ event, at }: Extract<JournalEntry, { type: 'event' }>): Progress {
    if ('place' in event) this.#require(event.place, event.place)
    else if (this.fold.snapshot.status !== 'active') {
      // A word to stop may have come too late.
      if (event.type === 'cancelled') return nothing
      this.#mismatch(`what came from outside (${event.type})`)
    }
    if (event.type === 'decided') this.#clearDoubt(event.decision)
    return this.fold.apply(event, at)
  }

  /** A call that a person lets run once more has not begun. */
  #clearDoubt(decision: Decision): void {
    if (decision.inDoubt !== true || !decision.approved) return
    const callId = decidedCall(decision, this.fold.snapshot.context.calls)
    for (const { effect } of this.inDoubt) {
      if (effect.input.call.id !== callId) continue
      this.#approved.add(effect.place)
      this.#toBegin.add(effect.place)
    }
  }

  #require(place: string, recorded: string): void {
    if (!this.fold.pending.has(place)) this.#mismatch(recorded)
  }

  #requireEnd({ status, reason }: Extract<JournalEntry, { type: 'ended' }>): void {
    const { output } = this.fold.snapshot
    if (output?.status === status && reasonOf(output) === reason) return
    this.#mismatch(`the end of the run (${endOf(status, reason)})`)
  }

  #mismatch(recorded: string): never {
    const { runId, agent } = this.#options
    const { output } = this.fold.snapshot
    throw new JournalMismatchError(runId, {
      position: this.#position,
      recorded,
      asked: [...this.fold.pending.keys()],
      ended: output && endOf(output.status, reasonOf(output)),
      changed: changedParts(this.#recordedBy, agent),
    })
  }

  #invalid(problem: string): never {
    const { runId } = this.#options
    throw new JournalError(`The journal of run "${runId}" ${problem}.`, { runId, position: this.#position })
  }
}

function reasonOf(ending: Ending): AbortReason | undefined {
  return ending.status === 'aborted' ? ending.reason : undefined
}

/** An end in words: `done`, `aborted: timeout`. */
function endOf(status: string, reason: string | undefined): string {
  return reason === undefined ? status : `${status}: ${reason}`
}

/** Where an agent's own steps begin: what was recorded before the run was migrated, it need not understand. */
export function startOf(entries: readonly JournalEntry[]): number {
  return Math.max(
    0,
    entries.findLastIndex(({ type }) => type === 'migrated'),
  )
}

/** Where an agent takes a run up again. */
export function foldJournal(
  machine: PureMachine,
  entries: readonly JournalEntry[],
  options: JournalFoldOptions,
): JournalFold {
  const first = startOf(entries)
  const journal = new JournalFold(machine, options, first)
  for (const entry of entries.slice(first)) journal.take(entry)
  // A journal without entries has not begun either.
  void journal.fold
  return journal
}
