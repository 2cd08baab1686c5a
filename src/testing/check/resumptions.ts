import type { JournalEntry } from '../../journal/entry.ts'
import { difference, outcomeText } from './outcomeText.ts'
import { type Chooser, Play, type Stage } from './play.ts'

/**
 * After which entries of a play's journal the process dies. What comes before the last choice of its path was tried on
 * the path from which it branches, and what comes after it mostly repeats: of that, each path tries one entry, in turn.
 *
 * @param choices How many choices its path had; without any, every entry is tried.
 * @param turn Which path of the check it is.
 */
export function cutsOf<Output>(
  { decisions }: Play<Output>,
  entries: number,
  choices: number,
  turn: number,
): readonly number[] {
  const first = Math.max(1, decisions[choices - 1]?.recorded ?? 1)
  const all = Array.from({ length: entries + 1 - first }, (_, i) => first + i)
  if (choices === 0) return all
  const next = decisions[choices]?.recorded ?? entries
  const later = all.filter((cut) => cut > next)
  return [...all.filter((cut) => cut <= next), ...later.slice(turn % (later.length || 1)).slice(0, 1)]
}

/**
 * Cuts the journal of a play as a crash would, resumes the run, and lets the world decide as before: no effect that had
 * completed may happen again, the model must be asked the same, and the outcome must be the same.
 *
 * @param cut How many entries survive the crash.
 */
export async function resumeAfter<Output>(
  stage: Stage<Output>,
  original: Play<Output>,
  entries: readonly JournalEntry[],
  cut: number,
): Promise<Play<Output>> {
  const before = entries.slice(0, cut)
  const settled = settledPlaces(before)
  const modelCalls = modelCallsOver(original, before)
  const chosen = new Map(original.decisions.map(({ key, name }) => [key, name]))
  const again: Chooser = ({ key }) => chosen.get(key)
  const play = new Play(stage, again, { crash: { entries: before, modelCalls, offered: original.offered } })
  const known = original.decisions.filter(({ recorded }) => recorded < cut).map(({ name }) => name)
  play.story.tell(`The run goes this way: ${known.join(', ') || 'it has just begun'}.`)
  play.story.tell(
    `The process dies with ${cut} of ${entries.length} journal entries written; the run is resumed.`,
  )
  await play.lead()
  if (play.breach !== undefined || play.misuse !== undefined) return play

  for (const [place, { tool }] of play.executions) {
    if (!settled.has(place)) continue
    play.broken('once', 'what had completed does not happen again', `${tool.name} ran again at ${place}`)
  }
  const doubtful = inDoubt(before, settled)
  const mayRunAgain = (place: string): boolean => original.executions.get(place)?.tool.idempotent === true
  for (const place of doubtful) {
    if (mayRunAgain(place) || !play.executions.has(place)) continue
    play.broken(
      'once',
      'a call in doubt runs again only where its tool is idempotent',
      `it ran again at ${place}`,
    )
  }
  // A call whose outcome is unknown is told to the model as such, so the run goes another way. One that runs again takes
  // its time again, and the time of the run goes another way.
  const hasTakenTime = (place: string): boolean => begunAt(before, place) !== before.at(-1)?.at
  if (!doubtful.some((place) => !mayRunAgain(place) || hasTakenTime(place))) {
    compare(original, play, modelCalls)
  }
  return play
}

function compare<Output>(original: Play<Output>, play: Play<Output>, modelCalls: number): void {
  for (const [i, { messages }] of play.requests.entries()) {
    const [was, is] = [original.requests[modelCalls + i]?.messages, messages].map((sent) =>
      JSON.stringify(sent),
    )
    if (was === is) continue
    play.broken('once', 'the model is asked the same as without the crash', difference(was, is))
  }
  const [was, is] = [original.outcome, play.outcome].map(outcomeText)
  if (was !== is) play.broken('once', 'the same outcome as without the crash', difference(was, is))
}

/** How many model calls had settled or been given up. */
function modelCallsOver<Output>(
  { decisions, requests }: Play<Output>,
  before: readonly JournalEntry[],
): number {
  const settled = modelCallsSettled(before)
  const timeOver = before.findIndex((entry) => settledPlace(entry) === 'deadline.conclude')
  if (timeOver === -1) return settled
  const begun = decisions.filter(
    ({ key, recorded }) => key.startsWith('model ') && recorded <= timeOver,
  ).length
  const wasUnderWay = begun > modelCallsSettled(before.slice(0, timeOver))
  // A closing call goes on when the time for work is over.
  return wasUnderWay && requests[begun - 1]?.toolChoice !== 'none' ? settled + 1 : settled
}

function modelCallsSettled(entries: readonly JournalEntry[]): number {
  return entries.filter((entry) => /^(?:model|closing)\./.test(settledPlace(entry) ?? '')).length
}

function settledPlace(entry: JournalEntry): string | undefined {
  return entry.type === 'event' && 'place' in entry.event ? entry.event.place : undefined
}

function begunAt(entries: readonly JournalEntry[], begun: string): number | undefined {
  return entries.find((entry) => entry.type === 'intent' && entry.place === begun)?.at
}

function settledPlaces(entries: readonly JournalEntry[]): ReadonlySet<string> {
  return new Set(entries.map(settledPlace).filter((place) => place !== undefined))
}

function inDoubt(entries: readonly JournalEntry[], settled: ReadonlySet<string>): readonly string[] {
  return entries.flatMap((entry) =>
    entry.type === 'intent' && !settled.has(entry.place) ? [entry.place] : [],
  )
}
