import type { ToolCall } from '../../messages/types.ts'
import type { OpenCall } from '../context.ts'
import type { ToolAnswer } from '../effects.ts'
import { fingerprint, paired } from './fingerprint.ts'
import { GrowingMap } from './growingMap.ts'
import { type Shingles, wordsOf } from './shingles.ts'
import { Sketch } from './sketch.ts'

/** What a run has seen of calls and results. It holds fingerprints, never texts, and grows by a few numbers for a call. */
export interface Seen {
  /** By the signature of a call: how many in a row brought no result that the call had not brought before. */
  readonly counts: GrowingMap<number>
  /** Which call has brought which result. */
  readonly pairs: GrowingMap<true>
  /** Results that mean something without their call: errors, and those that are long enough. */
  readonly results: GrowingMap<true>
  readonly sketch: Sketch
}

/** What a step brought, as against what was seen before it. */
export interface StepNews {
  readonly seen: Seen
  readonly repeated: readonly RepeatedCall[]
  /** Whether any result was new. Undefined for a step that says nothing about it: none of its calls is judged. */
  readonly broughtNews: boolean | undefined
}

/** A call whose result it had brought before. */
export interface RepeatedCall {
  /** In its step. */
  readonly position: number
  readonly tool: string
  /** How many such results in a row this call has brought, counting the first one of them: 2 for the first repetition. */
  readonly count: number
}

export const nothingSeen: Seen = {
  counts: GrowingMap.empty(),
  pairs: GrowingMap.empty(),
  results: GrowingMap.empty(),
  sketch: Sketch.empty,
}

/**
 * A result of fewer words does not tell by itself whether it is news: five files that were written answer "ok" five
 * times. It counts as seen only where the very same call has brought it before.
 */
const MEANINGFUL_WORDS = 24

/** The share of a result that must have been seen for it to be no news. */
const SIMILAR = 0.8

/**
 * A record or a report of at most so many words is news where it is about something new that its call asked for, however
 * much of its form was seen. A longer text that says little else new only repeats the question.
 */
const MOST_WORDS_OF_RECORD = 200

/** Answers that no tool gave: they say nothing about what a call brings. */
const notRun: ReadonlySet<string | undefined> = new Set([
  'truncated',
  'limit_reached',
  'repeated',
  'cancelled',
])

/** Takes the settled calls of a step in. Those of repeatable tools are left out, and each that ran counts once. */
export function look(before: Seen, calls: readonly OpenCall[]): StepNews {
  let { counts, pairs, results, sketch } = before
  const repeated: RepeatedCall[] = []
  let broughtNews: boolean | undefined
  for (const [position, { call, signature, answer, sameAs, repeatable }] of calls.entries()) {
    if (answer === undefined || sameAs !== undefined || repeatable === true || notRun.has(answer.error))
      continue
    const result = fingerprint(answer.content)
    const pair = paired(signature, result)
    const earlier = counts.get(signature)
    const isRepeated = pairs.has(pair)
    const count = isRepeated ? (earlier ?? 1) + 1 : 1
    if (isRepeated) repeated.push({ position, tool: call.function.name, count })
    else pairs = pairs.set(pair, true)
    counts = counts.set(signature, count)
    const text = readText(call, answer, sketch)
    const isSeen = text !== undefined && (results.has(result) || isSimilar(text, sketch))
    if (text !== undefined) {
      if (!results.has(result)) results = results.set(result, true)
      sketch = sketch.with(text)
    }
    // A call that was made before says by itself whether it brings news: polling brings the same text with one number
    // changed. What a person did not allow brings nothing either way.
    const isNews = earlier === undefined ? !isSeen : !isRepeated
    if (answer.error !== 'denied') broughtNews = broughtNews === true || isNews
  }
  return { seen: { counts, pairs, results, sketch }, repeated, broughtNews }
}

/** A result that means something without its call; undefined for one that is too short. */
function readText(
  { function: { arguments: args } }: ToolCall,
  { content, error }: ToolAnswer,
  sketch: Sketch,
): Shingles | undefined {
  // A word has at least one letter.
  if (content.length < MEANINGFUL_WORDS && error === undefined) return undefined
  // An error that names what was asked for brings nothing of it.
  const text = error === undefined ? sketch.read(content, wordsOf(valuesIn(args))) : sketch.read(content)
  return text.words >= MEANINGFUL_WORDS || error !== undefined ? text : undefined
}

/** What arguments say: their texts and numbers, without the names of the fields. */
function valuesIn(args: string): string {
  const values: (string | number)[] = []
  try {
    JSON.parse(args, (_field, value: unknown) => {
      if (typeof value === 'string' || typeof value === 'number') values.push(value)
      return value
    })
  } catch {
    return args
  }
  return values.join(' ')
}

function isSimilar(text: Shingles, sketch: Sketch): boolean {
  if ((sketch.containmentOf(text) ?? 0) < SIMILAR) return false
  return text.words > MOST_WORDS_OF_RECORD || !sketch.namesNew(text)
}
