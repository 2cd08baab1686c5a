import { createAgent, type Journal, type JournalEntry, memoryJournal, type Outcome } from '../../src/index.ts'
import { type ScriptedModel, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { script } from '../support/script.ts'
import { countingAdd, throwing } from '../support/tools.ts'

export interface RecordedRun {
  readonly journal: Journal
  readonly entries: readonly JournalEntry[]
  readonly outcome: Outcome
}

/** Runs a script to its end as `r`. */
export async function recordedRun(
  steps: readonly ScriptedStep[] = script,
  limits: Parameters<typeof createAgent>[0]['limits'] = {},
): Promise<RecordedRun> {
  const journal = memoryJournal()
  const agent = createAgent({
    model: scriptedModel(steps),
    tools: [countingAdd(), throwing(new Error('no'))],
    journal,
    limits,
  })
  const outcome = await agent.run('go', { runId: 'r' })
  return { journal, entries: await entriesOf(journal), outcome }
}

export async function entriesOf(journal: Journal, runId = 'r'): Promise<readonly JournalEntry[]> {
  return (await journal.load(runId)) ?? []
}

/** A model that must not be called. */
export function untouchable(): ScriptedModel {
  return scriptedModel([])
}

/** The entries up to the last one of which this holds. */
export function upTo(
  entries: readonly JournalEntry[],
  holds: (entry: JournalEntry) => boolean,
): readonly JournalEntry[] {
  return entries.slice(0, entries.findLastIndex(holds) + 1)
}

/** The tools that were run, and the texts and calls of the model, as the journal tells them. */
export function settledPlaces(entries: readonly JournalEntry[]): readonly string[] {
  return entries.flatMap((entry) =>
    entry.type === 'event' && 'place' in entry.event ? [entry.event.place] : [],
  )
}
