import { environment } from '../environment.ts'
import { JournalError, MisuseError } from '../errors.ts'
import type { JournalEntry } from '../journal/entry.ts'
import type { AgentFingerprint } from '../journal/fingerprint.ts'
import type { ToolAnswer } from '../machines/effects.ts'
import type { Limits } from '../machines/limits/limits.ts'
import { resolveSettings } from '../machines/settings.ts'
import { toolError } from '../messages/toolTexts.ts'
import { JournalFold, startOf } from './journalFold.ts'
import { JournalMismatchError } from './journalMismatch.ts'
import type { Effect, PureMachine } from './pureMachine.ts'

/** Which run is forked, where, and what is to be otherwise. */
export interface ForkFacts {
  /** The run that is forked. */
  readonly runId: string
  /** The step in which the fork parts from it. */
  readonly at: number
  /** Other results of the step's calls, by call id. The calls themselves stay as they were. */
  readonly results?: Readonly<Record<string, ToolAnswer>> | undefined
  readonly limits?: Partial<Limits> | undefined
  /** The agent that goes on with the fork. */
  readonly agent: AgentFingerprint
}

/** The journal that a fork begins with. */
export interface ForkedJournal {
  readonly entries: readonly JournalEntry[]
  /** What the machine asks for next and nobody has started. */
  readonly unstarted: readonly Effect[]
}

/**
 * The journal of a fork: everything before the model call of step `at`, or, where results are to be others, everything
 * up to the end of that step with these results.
 *
 * @throws MisuseError `invalid_fork` for a step or a call that there is not; JournalMismatchError where the agent would not
 * have come that far.
 */
export function forkJournal(
  machine: PureMachine,
  entries: readonly JournalEntry[],
  facts: ForkFacts,
): ForkedJournal {
  return new Forking(machine, entries, facts).fork()
}

type Results = Readonly<Record<string, ToolAnswer>>

class Forking {
  readonly #entries: readonly JournalEntry[]
  readonly #facts: ForkFacts
  readonly #journal: JournalFold
  readonly #kept: JournalEntry[] = []
  /** Ids of the calls that ran in the step at which the fork parts. */
  readonly #ran = new Set<string>()
  /** The entry that is looked at next. */
  #position: number

  constructor(machine: PureMachine, entries: readonly JournalEntry[], facts: ForkFacts) {
    this.#entries = entries
    this.#facts = facts
    this.#position = startOf(entries)
    this.#journal = new JournalFold(
      machine,
      { runId: facts.runId, watched: false, agent: facts.agent },
      this.#position,
    )
  }

  fork(): ForkedJournal {
    const { results } = this.#facts
    this.#begin()
    const first = this.#step
    this.#shareSteps(first)
    if (!this.#isReached) throw this.#outOfRange(first)
    if (results !== undefined) this.#editStep(results)
    return { entries: upToNow(this.#kept), unstarted: this.#journal.unstarted }
  }

  get #step(): number {
    return this.#journal.fold.snapshot.context.step
  }

  /** Whether the model is asked in the step at which the fork parts. */
  get #isReached(): boolean {
    return this.#journal.fold.pending.has(`model.${this.#facts.at}.1`)
  }

  #begin(): void {
    const { runId, at, limits, agent } = this.#facts
    const start = this.#entries[this.#position++]
    if (start === undefined || !isStart(start)) {
      throw new JournalError(`The journal of run "${runId}" does not begin with "started".`, {
        runId,
        position: 0,
      })
    }
    const settings = limits === undefined ? {} : resolveSettings({ limits }, resolveSettings(start.input))
    this.#keep({
      type: 'started',
      version: 1,
      at: start.at,
      input: { ...start.input, ...settings },
      agent,
      forkOf: { runId, at },
    })
  }

  #shareSteps(first: number): void {
    try {
      for (const entry of this.#rest()) {
        if (this.#isReached) return
        this.#keep(entry)
      }
    } catch (thrown) {
      if (this.#facts.limits === undefined || !(thrown instanceof JournalMismatchError)) throw thrown
      throw this.#outOfRange(first, ' With these limits the run takes another way after that.')
    }
  }

  /** Shares what is recorded of the step, but for the results that are to be others. */
  #editStep(results: Results): void {
    for (const entry of this.#rest()) {
      if (!isOfStep(entry, this.#facts.at)) break
      this.#keep(this.#edited(entry, results))
    }
    // Calls whose result is not recorded: their process died, or they still run. Those that had begun must not happen
    // once more in the fork, which would run them with a key of its own.
    const begun = new Set(this.#journal.inDoubt.map(({ effect }) => effect.place))
    for (const effect of [...this.#journal.fold.pending.values()]) {
      const isInDoubt = begun.has(effect.place)
      const output = resultFor(effect, results) ?? (isInDoubt ? toolError('in_doubt', {}) : undefined)
      if (output !== undefined) this.#settle(effect.place, output)
    }
    const unknown = Object.keys(results).filter((callId) => !this.#ran.has(callId))
    if (unknown.length > 0) {
      const known = [...this.#ran].join(', ') || 'none'
      throw new MisuseError(
        'invalid_fork',
        `No call ${unknown.join(', ')} ran in step ${this.#facts.at} of run "${this.#facts.runId}". Calls that did: ${known}.`,
      )
    }
  }

  #settle(place: string, output: ToolAnswer): void {
    const at = this.#kept.at(-1)?.at ?? 0
    this.#keep({ type: 'event', at, event: { type: 'settled', place, output } })
  }

  #edited(entry: JournalEntry, results: Results): JournalEntry {
    if (entry.type !== 'event' || !('place' in entry.event)) return entry
    const { place } = entry.event
    const output = resultFor(this.#journal.fold.pending.get(place), results)
    return output === undefined ? entry : { ...entry, event: { type: 'settled', place, output } }
  }

  #keep(entry: JournalEntry): void {
    const { started } = this.#journal.take(entry)
    this.#kept.push(entry)
    for (const { kind, input } of started) {
      if (kind === 'runTool' && input.step === this.#facts.at) this.#ran.add(input.call.id)
    }
  }

  /** What happened in the run, from where the fork has come to. */
  *#rest(): Generator<JournalEntry> {
    // They tell which time does not count. The fork itself has not been handed back, even where its run ends so.
    const waits: JournalEntry[] = []
    for (; this.#position < this.#entries.length; this.#position++) {
      const entry = this.#entries[this.#position] as JournalEntry
      if (isEnd(entry)) return
      if (entry.type === 'waiting' || entry.type === 'resumed') {
        waits.push(entry)
      } else if (entry.type === 'event' || entry.type === 'intent') {
        yield* waits.splice(0)
        yield entry
      }
    }
  }

  #outOfRange(first: number, reason = ''): MisuseError {
    const { runId, at } = this.#facts
    const last = this.#step
    const range = first === last ? `step ${first}` : `a step from ${first} to ${last}`
    return new MisuseError(
      'invalid_fork',
      `The run "${runId}" can be forked at ${range}, not at ${String(at)}.${reason}`,
    )
  }
}

/** As though they had been written just now: the time since then is none of the fork's. */
function upToNow(entries: readonly JournalEntry[]): readonly JournalEntry[] {
  const since = Math.max(0, environment().wallNow() - (entries.at(-1)?.at ?? 0))
  return entries.map((entry) => ({ ...entry, at: entry.at + since }))
}

function isStart(entry: JournalEntry): entry is Extract<JournalEntry, { type: 'started' | 'migrated' }> {
  return entry.type === 'started' || entry.type === 'migrated'
}

function isEnd(entry: JournalEntry): boolean {
  return entry.type === 'ended' || (entry.type === 'event' && entry.event.type === 'cancelled')
}

/** Whether an entry may be of this step, judging by the place that it names. */
function isOfStep(entry: JournalEntry, step: number): boolean {
  const place = entry.type === 'intent' ? entry.place : placeOf(entry)
  if (place === undefined) return true
  const [kind, ofStep] = place.split('.')
  return ofStep === String(step) && (kind === 'model' || kind === 'sleep' || kind === 'tool')
}

function placeOf(entry: JournalEntry): string | undefined {
  return entry.type === 'event' && 'place' in entry.event ? entry.event.place : undefined
}

function resultFor(effect: Effect | undefined, results: Results): ToolAnswer | undefined {
  if (effect?.kind !== 'runTool') return undefined
  const { id } = effect.input.call
  return Object.hasOwn(results, id) ? results[id] : undefined
}
