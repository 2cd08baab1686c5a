import { changedParts } from '../journal/changedParts.ts'
import { canonicalJson } from '../messages/canonicalJson.ts'
import type { Replay } from './replay.ts'
import { detail, stepDifferences } from './stepDifferences.ts'
import { stepsOf } from './stepsOfRun.ts'

/** The first step in which two runs part. */
export interface Difference {
  /** 0 where they began with something else. */
  readonly step: number
  /** All of it in words, a line for each detail. */
  readonly summary: string
  /** Everything in which they differ in that step, the most telling first. */
  readonly details: readonly DifferenceDetail[]
}

export interface DifferenceDetail {
  /**
   * `input`, `text`, `calls`, `arguments`, `result` and `message` are of the conversation; `limit` and `transitions` of the
   * chart; `end` says that one run ended otherwise or has come further. `settings` and `agent` explain the others and
   * are no parting by themselves.
   */
  readonly what:
    | 'input'
    | 'text'
    | 'calls'
    | 'arguments'
    | 'result'
    | 'message'
    | 'limit'
    | 'transitions'
    | 'end'
    | 'settings'
    | 'agent'
  /** In words. */
  readonly text: string
  /** What it is in the first run. */
  readonly a: unknown
  /** What it is in the second run. */
  readonly b: unknown
}

/**
 * Where two runs part: what the model said and asked for, what the tools answered, which way the chart took. Call ids,
 * times and tokens do not count.
 *
 * @returns `undefined` where they do not part.
 */
export function diff(a: Replay, b: Replay): Difference | undefined {
  const [stepsA, stepsB] = [stepsOf(a), stepsOf(b)]
  const common = Math.min(stepsA.length, stepsB.length)
  for (let step = 0; step < common; step++) {
    const [ofA, ofB] = [stepsA[step], stepsB[step]]
    const details = ofA === undefined || ofB === undefined ? [] : stepDifferences(ofA, ofB, step)
    if (details.length > 0) return differenceIn(step, details, [a, b])
  }
  const [endA, endB] = [endOf(a), endOf(b)]
  if (stepsA.length === stepsB.length && endA === endB) return undefined
  return differenceIn(common - 1, [detail('end', 'the run is', [endA, endB])], [a, b])
}

function differenceIn(
  step: number,
  found: readonly DifferenceDetail[],
  [a, b]: readonly [Replay, Replay],
): Difference {
  const details = [...found, ...explanations(a, b)]
  const where = step === 0 ? 'at the beginning' : `in step ${step}`
  const lines = details.map(({ text }) => `- ${text}`)
  return {
    step,
    summary: [`The runs ${a.runId} and ${b.runId} part ${where}:`, ...lines].join('\n'),
    details,
  }
}

/** What may be behind a difference. */
function explanations(a: Replay, b: Replay): readonly DifferenceDetail[] {
  const [startA, startB] = [a.entries[0]?.entry, b.entries[0]?.entry]
  if (startA?.type !== 'started' || startB?.type !== 'started') return []
  const { messages: _messagesA, memory: _memoryA, ...settingsA } = startA.input
  const { messages: _messagesB, memory: _memoryB, ...settingsB } = startB.input
  const settings =
    canonicalJson(settingsA) === canonicalJson(settingsB)
      ? []
      : [detail('settings', 'the settings are', [settingsA, settingsB])]
  const changed = changedParts(startA.agent, startB.agent).join(', ')
  if (changed === '') return settings
  const text = `the agents differ in ${changed}`
  return [...settings, { what: 'agent', text, a: startA.agent, b: startB.agent }]
}

function endOf({ status, ending, entries }: Replay): string {
  if (ending?.status === 'aborted') return `aborted (${ending.reason})`
  const last = entries.at(-1)
  return status === 'done' ? status : `${status} in step ${last?.step ?? 0}, ${last?.state ?? ''}`
}
