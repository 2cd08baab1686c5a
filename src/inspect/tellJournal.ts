import type { ErrorInfo } from '../errors.ts'
import type { JournalEntry } from '../journal/entry.ts'
import { type AgentMachine, createAgentMachine } from '../machines/agentMachine.ts'
import type { CallModelInput } from '../machines/effects.ts'
import { type Ending, endingOf } from '../machines/outcome.ts'
import type { ReadResult } from '../messages/readJson.ts'
import { askedOf } from '../runtime/doubts.ts'
import type { AgentEvent, EventBody } from '../runtime/events.ts'
import { outcomeOf } from '../runtime/execute.ts'
import { JournalFold } from '../runtime/journalFold.ts'
import { ledMachine, type Reading } from '../runtime/ledMachine.ts'
import { Narrator } from '../runtime/narrator.ts'
import { type Effect, PureMachine } from '../runtime/pureMachine.ts'

/** An event as a journal tells it, and the entry that brought it about. */
export interface ToldEvent {
  readonly position: number
  /** Made when it is called: a request repeats the conversation, so those of a long run are many times its size. */
  readonly event: () => AgentEvent
  /** Messages of the conversation that the event repeats; 0 for most. */
  readonly repeats: number
}

export interface TellOptions {
  readonly runId: string
  /** The machine of the agent, which alone knows its own limits and texts. Default: one with neither. */
  readonly machine?: AgentMachine | undefined
  /** What a model call sent. */
  readonly requestOf: (input: CallModelInput) => Pick<EventOf<'model.requested'>, 'request' | 'tokens'>
  /** Makes of the answer's text what the agent promises. Default: the text. */
  readonly read?: ((text: string) => ReadResult<unknown>) | undefined
  /** How many entries are told. Default: all. */
  readonly upTo?: number | undefined
}

type EventOf<Type extends EventBody['type']> = Extract<EventBody, { type: Type }>

/**
 * Tells a run from its journal in the events that a watcher was shown while it was under way. What no journal keeps is
 * missing: pieces of text, progress and repeated attempts of tools; and durations are as exact as the times of the entries.
 * Calls nobody.
 *
 * @throws JournalError or JournalMismatchError, once all is told that comes before the entry which cannot be read.
 */
export function* tellJournal(
  entries: readonly JournalEntry[],
  options: TellOptions,
): Generator<ToldEvent, void> {
  const telling = new Telling(entries, options)
  for (let position = 0; position < Math.min(entries.length, options.upTo ?? entries.length); position++) {
    yield* telling.take(position)
  }
}

/** What a memory fails with that finds nothing to send: then nothing was sent. */
const notSent: ReadonlySet<string> = new Set(['memory_failed', 'context_exhausted'])

class Telling {
  readonly #entries: readonly JournalEntry[]
  readonly #options: TellOptions
  readonly #reading: Reading = { position: 0 }
  readonly #journal: JournalFold
  #narrator: Narrator
  #told: ToldEvent[] = []
  #at = 0
  /** Whether it is the run that is forked of which is told: what it had under way, the fork begins by itself. */
  #isCopy = false
  /** When the run began or went on last. */
  #startedAt = 0

  constructor(entries: readonly JournalEntry[], options: TellOptions) {
    this.#entries = entries
    this.#options = options
    const { machine = createAgentMachine(), runId } = options
    const led = new PureMachine(ledMachine(machine, entries, this.#reading))
    this.#journal = new JournalFold(led, { runId, watched: true })
    this.#narrator = this.#newNarrator()
  }

  /** What an entry brought about. */
  take(position: number): readonly ToldEvent[] {
    const entry = this.#entries[position] as JournalEntry
    this.#reading.position = position
    this.#at = entry.at
    switch (entry.type) {
      case 'started':
      case 'migrated':
        this.#journal.take(entry)
        this.#isCopy = entry.type === 'started' && entry.forkOf !== undefined
        this.#begin(entry.type === 'started' ? undefined : position)
        break
      case 'resumed':
        this.#journal.take(entry)
        this.#isCopy = false
        this.#begin(position)
        break
      case 'intent':
        this.#takeIntent(entry)
        break
      case 'event':
        this.#takeEvent(entry)
        break
      case 'waiting': {
        this.#journal.take(entry)
        const { snapshot } = this.#journal.fold
        this.#finish(endingOf(askedOf(snapshot.context, this.#journal.inDoubt)))
        break
      }
      case 'ended': {
        this.#journal.take(entry)
        const { output } = this.#journal.fold.snapshot
        if (output !== undefined) this.#finish(output)
      }
    }
    return this.#take()
  }

  #take(): readonly ToldEvent[] {
    const told = this.#told
    this.#told = []
    return told
  }

  #begin(recorded: number | undefined): void {
    this.#startedAt = this.#at
    this.#narrator = this.#newNarrator()
    this.#narrator.runStarted(this.#journal.fold.snapshot, recorded)
    this.#start([...this.#journal.fold.pending.values()])
  }

  #takeIntent(entry: Extract<JournalEntry, { type: 'intent' }>): void {
    this.#journal.take(entry)
    const effect = this.#journal.fold.pending.get(entry.place)
    // All others are shown to begin when they are asked for.
    if (effect?.kind === 'runTool') this.#narrator.effectStarted(effect)
  }

  #takeEvent(entry: Extract<JournalEntry, { type: 'event' }>): void {
    const { event } = entry
    const { fold } = this.#journal
    const before = fold.snapshot
    const settled = 'place' in event ? fold.pending.get(event.place) : undefined
    const progress = this.#journal.take(entry)
    this.#narrator.happened({ event, settled, before, after: fold.snapshot, progress })
    this.#start(progress.started)
  }

  /** The journal itself tells when tools began. */
  #start(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.kind === 'runTool' || (this.#isCopy && !this.#hasSettled(effect.place))) continue
      this.#narrator.effectStarted(effect)
      if (effect.kind === 'callModel') this.#tellRequest(effect.input)
      if (effect.kind === 'sleep') {
        const end = this.#settlementOf(effect.place)
        const delayMs = end === undefined ? (effect.input.retryAfterMs ?? 0) : Math.max(0, end.at - this.#at)
        this.#narrator.effectReported(effect, { type: 'delay', delayMs })
      }
    }
  }

  #tellRequest(input: CallModelInput): void {
    const { place, toolChoice, transcript } = input
    const end = this.#settlementOf(place)
    if (end?.event.type === 'failed' && notSent.has((end.event.error as ErrorInfo).code)) return
    const { requestOf, runId } = this.#options
    const facts = { runId, at: this.#at }
    this.#told.push({
      position: this.#reading.position,
      repeats: transcript.length,
      event: () => ({
        ...facts,
        type: 'model.requested',
        place,
        closing: toolChoice === 'none',
        ...requestOf(input),
      }),
    })
  }

  #hasSettled(place: string): boolean {
    return this.#settlementOf(place) !== undefined
  }

  /** The entry that says how an effect ended which begins now. */
  #settlementOf(place: string): Extract<JournalEntry, { type: 'event' }> | undefined {
    for (let i = this.#reading.position + 1; i < this.#entries.length; i++) {
      const entry = this.#entries[i] as JournalEntry
      if (entry.type === 'event' && 'place' in entry.event && entry.event.place === place) return entry
      // Whoever takes the run up begins the effect anew.
      if (entry.type === 'resumed' || entry.type === 'migrated') return undefined
    }
    return undefined
  }

  #finish(ending: Ending): void {
    const { runId, read = readText } = this.#options
    this.#narrator.runFinished(outcomeOf(ending, { runId, durationMs: this.#at - this.#startedAt, read }))
  }

  #newNarrator(): Narrator {
    return new Narrator(
      (body) => {
        const event: AgentEvent = { runId: this.#options.runId, at: this.#at, ...body }
        this.#told.push({ position: this.#reading.position, repeats: 0, event: () => event })
      },
      () => this.#at,
    )
  }
}

function readText(text: string): ReadResult<string> {
  return { ok: true, value: text }
}
