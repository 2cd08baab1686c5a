import { MisuseError } from '../../errors.ts'
import { fieldsOf } from '../../messages/fields.ts'
import { type CallLadder, type FailureLadder, isOff, type LimitLadder, reactions } from './ladder.ts'

/** The thresholds of one limit: one number, from which its usual ladder follows, or a ladder of one's own. */
export type LimitSetting = number | LimitLadder

/**
 * Thresholds at which a run is bounded. Each is a guard on the chart. A number sets the usual ladder of its limit, an
 * object such as `{ warn: 2, conclude: 5 }` sets one's own; `Infinity` switches a limit off.
 */
export interface Limits {
  /** Model calls that may ask for tools. `8` concludes when 8 were made and no answer came. Default: 8. */
  readonly steps: LimitSetting
  /**
   * Calls that ask for the same (tool and arguments, whatever the order of keys) and bring no result that this call
   * has not brought before, anywhere in the run. `2` warns below the 2nd such result and concludes after the 3rd. A
   * result that is new resets the count of its call; tools that are `repeatable` are not counted. Default: 2.
   */
  readonly repeats: LimitSetting
  /**
   * Failed tool calls in a row, over all tools, and failures of one tool with the same error since its last success. `3`
   * concludes after the 3rd. What a person did not allow is no failure. `{ abort: 3, perTool: false }` counts only those
   * in a row. Default: 3.
   */
  readonly errorStreak: number | FailureLadder
  /**
   * Steps in a row whose results bring nothing that was not seen before, although the calls are new. `2` warns after
   * the 2nd and concludes after the 3rd. Any result that is new resets it. Default: 2.
   */
  readonly stagnation: LimitSetting
  /**
   * Replies in a row that are empty, cut off, or not of the form that was asked for. `2` aborts at the 2nd; each one
   * before is answered with a note to the model. Default: 2.
   */
  readonly malformed: LimitSetting
  /**
   * Milliseconds since the start of the run, over resumes; time in which it waits for nothing but a person is not
   * counted. A number aborts when it is over, and concludes when less than a fifth of it, or 30 s, is left. Default: off.
   */
  readonly time: LimitSetting
  /**
   * Tokens of all model calls, in and out, those of sub-agents included. A number concludes where another step and the
   * closing answer would not fit any more, and aborts where not even the closing answer would. Default: off.
   */
  readonly tokens: LimitSetting
  /** What the tokens cost, by `prices`, in their currency; otherwise like `tokens`. Default: off. */
  readonly cost: LimitSetting
  /**
   * Tool calls that are executed; those of one reply that ask for the same count once. `20` concludes after the 20th;
   * calls of the same reply beyond it are not run, and are answered with an error that says so. Default: off.
   */
  readonly toolCalls: LimitSetting
  /**
   * Calls that ask for the same (tool and arguments, whatever the order of keys), whatever they bring, from the first one
   * on. `2` does not run the 2nd one: it is answered with the error `repeated`, and advice to try something else. Nor does
   * one run that concludes or aborts. Tools that are `repeatable` are not counted. Default: off.
   */
  readonly sameCalls: number | CallLadder
}

export type LimitName = keyof Limits

/** All limits with their ladders: plain JSON, as the journal keeps it. */
export type Ladders = { readonly [Name in LimitName]: Exclude<Limits[Name], number> }

/** The share of `time` that is kept for the closing answer, and the most of it in milliseconds. */
const TIME_RESERVE_SHARE = 0.2
const MAX_TIME_RESERVE_MS = 30_000

interface Kind {
  /** The usual ladder. */
  ladder(threshold: number): CallLadder
  /** The least that a threshold can be. */
  readonly least: number
  /** Whether thresholds are whole numbers. */
  readonly whole: boolean
  /** What its ladder knows beside the reactions: a threshold of its own, and switches. */
  readonly refusal?: 'refuse'
  readonly switches?: readonly string[]
}

const concluding = (conclude: number): LimitLadder => ({ conclude })
const warningFirst = (warn: number): LimitLadder => ({ warn, conclude: warn + 1 })
const boundedHard = (max: number): LimitLadder => ({ conclude: max, abort: max })

const kinds: { readonly [Name in LimitName]: Kind } = {
  steps: { ladder: concluding, least: 1, whole: true },
  // A call is a repetition from the second time on.
  repeats: { ladder: warningFirst, least: 2, whole: true },
  errorStreak: { ladder: concluding, least: 1, whole: true, switches: ['perTool'] },
  stagnation: { ladder: warningFirst, least: 1, whole: true },
  malformed: { ladder: (abort) => ({ abort }), least: 1, whole: true },
  time: {
    ladder: (abort) => ({
      conclude: abort - Math.min(abort * TIME_RESERVE_SHARE, MAX_TIME_RESERVE_MS),
      abort,
    }),
    least: 0,
    whole: false,
  },
  tokens: { ladder: boundedHard, least: 1, whole: true },
  cost: { ladder: boundedHard, least: 0, whole: false },
  toolCalls: { ladder: concluding, least: 1, whole: true },
  // The first call of its kind has to run.
  sameCalls: {
    ladder: (refuse) => ({ refuse }),
    least: 2,
    whole: true,
    refusal: 'refuse',
    switches: ['inARow'],
  },
}

const off: LimitLadder = {}

export const limitNames: readonly LimitName[] = Object.keys(kinds) as LimitName[]

export const defaultLadders: Ladders = {
  steps: kinds.steps.ladder(8),
  repeats: kinds.repeats.ladder(2),
  errorStreak: kinds.errorStreak.ladder(3),
  stagnation: kinds.stagnation.ladder(2),
  malformed: kinds.malformed.ladder(2),
  time: off,
  tokens: off,
  cost: off,
  toolCalls: off,
  sameCalls: off,
}

/**
 * Limits as a user gives them know no `null`: it only stands where JSON wrote Infinity.
 *
 * @throws MisuseError `invalid_limit` for `null`, in place of all limits, of one or of a threshold.
 */
export function refuseNull(limits: unknown): void {
  const entries = Object.entries(fieldsOf(limits)).map(
    ([name, setting]) => [`limits.${name}`, setting] as const,
  )
  const thresholds = entries.flatMap(([where, setting]) =>
    Object.entries(fieldsOf(setting)).map(([reaction, at]) => [`${where}.${reaction}`, at] as const),
  )
  for (const [where, value] of [['limits', limits] as const, ...entries, ...thresholds]) {
    if (value !== null) continue
    throw invalid(
      `${where} must not be null. Leave it out for the default, or use Infinity to switch a limit off.`,
    )
  }
}

/**
 * The ladders that a user's limits come to; those left out keep the ones of `base`.
 *
 * @throws MisuseError `invalid_limit` for an unknown limit, a threshold that cannot be, or a ladder whose milder reaction
 * comes later than a stricter one.
 */
export function resolveLadders(limits: Partial<Limits>, base: Ladders): Ladders {
  const ladders: Record<LimitName, CallLadder> = { ...base }
  for (const [name, setting] of Object.entries(limits)) {
    if (!isLimitName(name)) {
      throw invalid(`Unknown limit "${name}". Known limits: ${limitNames.join(', ')}.`)
    }
    if (setting !== undefined) ladders[name] = ladderOf(name, setting, base[name])
  }
  return ladders
}

/** @param base The thresholds for a setting that has only switches. */
function ladderOf(name: LimitName, setting: number | CallLadder | null, base: CallLadder): CallLadder {
  // JSON writes Infinity as null, and a journal is JSON.
  if (setting === null || setting === Number.POSITIVE_INFINITY) return off
  if (typeof setting !== 'object') return kinds[name].ladder(threshold(`limits.${name}`, name, setting))
  if (Array.isArray(setting)) throw invalid(`limits.${name} must be a number or an object, not a list.`)
  const { refusal, switches = [] } = kinds[name]
  const given = Object.entries(setting).filter(([, value]) => value !== undefined)
  if (given.length > 0 && given.every(([key]) => switches.includes(key))) {
    if (isOff(base)) throw invalid(`limits.${name} needs a threshold beside ${switches.join(' and ')}.`)
    return ladderOf(name, { ...base, ...setting }, base)
  }
  const ladder = Object.fromEntries(
    Object.entries(setting).flatMap(([key, value]: [string, unknown]): [string, unknown][] => {
      if (switches.includes(key))
        return value === undefined ? [] : [[key, flag(`limits.${name}.${key}`, value)]]
      if (key !== refusal && !reactions.some((reaction) => reaction === key)) throw unknownKey(name, key)
      const isUnset = value === undefined || value === null || value === Number.POSITIVE_INFINITY
      return isUnset ? [] : [[key, threshold(`limits.${name}.${key}`, name, value)]]
    }),
  ) as CallLadder
  if (isOff(ladder)) return off
  const { warn = 0, refuse = warn, conclude = refuse, abort = conclude } = ladder
  if (warn > refuse || refuse > conclude || conclude > abort) {
    throw invalid(
      `limits.${name} must react more strictly the higher it counts: warn (${warn})` +
        `${refusal === undefined ? '' : ` up to refuse (${refuse})`} up to conclude (${conclude}) up to abort (${abort}).`,
    )
  }
  return ladder
}

function unknownKey(name: LimitName, key: string): MisuseError {
  const { refusal, switches = [] } = kinds[name]
  const known = ['warn', ...(refusal === undefined ? [] : [refusal]), 'conclude']
  const besides = switches.length === 0 ? '' : `, and ${switches.join(', ')}, which is true or false`
  return invalid(
    `limits.${name} knows no "${key}". It knows ${known.join(', ')} and abort, each with a threshold${besides}.`,
  )
}

function flag(where: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw invalid(`${where} must be true or false, not ${String(value)}.`)
}

function threshold(where: string, name: LimitName, value: unknown): number {
  const { least, whole } = kinds[name]
  if (whole) {
    if (Number.isInteger(value) && (value as number) >= least) return value as number
    throw invalid(`${where} must be a whole number of at least ${least}, not ${String(value)}.`)
  }
  if (typeof value === 'number' && value > 0 && Number.isFinite(value)) return value
  throw invalid(`${where} must be a number above 0, not ${String(value)}.`)
}

function isLimitName(name: string): name is LimitName {
  return Object.hasOwn(kinds, name)
}

function invalid(message: string): MisuseError {
  return new MisuseError('invalid_limit', message)
}
