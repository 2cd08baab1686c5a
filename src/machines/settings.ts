import { MisuseError } from '../errors.ts'

/** Thresholds at which the loop is bounded. Each is a guard on the chart. */
export interface Limits {
  /** Model calls that may ask for tools. When they are used up the run concludes. Default: 8. */
  readonly steps: number
  /** Failed tool calls in a row, over all tools, after which the run concludes. A success resets it. Default: 3. */
  readonly errorStreak: number
  /** Replies in a row that are empty or cut off. One less is answered with a nudge, then the run aborts. Default: 2. */
  readonly malformed: number
}

/** All numbers that steer a run. Recorded in its journal, so that a resumed run goes on under the same ones. */
export interface RunSettings {
  readonly limits: Limits
  /** How often one model call is tried again after an error that may pass. Default: 2. */
  readonly modelRetries: number
  /**
   * What a text means whose finish reason announces tool calls, of which there are none. Some servers lose the calls and
   * deliver the words before them, others name the reason wrongly. `nudge`: the model is told so once, and the same
   * again counts as its answer. `answer`: it counts as the answer at once. Default: `nudge`.
   */
  readonly missingCalls: 'nudge' | 'answer'
  /**
   * Whether calls that need no approval run while others of their reply wait for a person. Default: false, nothing of a
   * reply runs before every call that needs it is decided.
   */
  readonly runApprovedFirst: boolean
}

export const defaultSettings: RunSettings = {
  limits: { steps: 8, errorStreak: 3, malformed: 2 },
  modelRetries: 2,
  missingCalls: 'nudge',
  runApprovedFirst: false,
}

/** Settings as a user gives them: what is left out keeps its default. `Infinity` switches a limit off. */
export interface SettingsInput {
  readonly limits?: Partial<Limits> | undefined
  readonly modelRetries?: number | undefined
  readonly missingCalls?: RunSettings['missingCalls'] | undefined
  readonly runApprovedFirst?: boolean | undefined
}

/** @throws MisuseError `invalid_limit` for an unknown limit or a threshold that is not a positive whole number. */
export function resolveSettings(input: SettingsInput, base: RunSettings = defaultSettings): RunSettings {
  const limits: Record<keyof Limits, number> = { ...base.limits }
  for (const [name, value] of Object.entries(input.limits ?? {})) {
    if (!isLimit(name)) {
      throw new MisuseError(
        'invalid_limit',
        `Unknown limit "${name}". Known limits: ${Object.keys(limits).join(', ')}.`,
      )
    }
    if (value === undefined) continue
    if (value === null) {
      // JSON writes Infinity so, and a journal is JSON.
      limits[name] = Number.POSITIVE_INFINITY
      continue
    }
    if (!(value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && value >= 1))) {
      throw new MisuseError(
        'invalid_limit',
        `limits.${name} must be a whole number of at least 1, not ${value}.`,
      )
    }
    limits[name] = value
  }
  const modelRetries = input.modelRetries ?? base.modelRetries
  if (!(Number.isInteger(modelRetries) && modelRetries >= 0)) {
    throw new MisuseError(
      'invalid_limit',
      `modelRetries must be a whole number of at least 0, not ${modelRetries}.`,
    )
  }
  const missingCalls = input.missingCalls ?? base.missingCalls
  if (missingCalls !== 'nudge' && missingCalls !== 'answer') {
    throw new MisuseError(
      'invalid_option',
      `missingCalls must be "nudge" or "answer", not "${String(missingCalls)}".`,
    )
  }
  return {
    limits,
    modelRetries,
    missingCalls,
    runApprovedFirst: input.runApprovedFirst ?? base.runApprovedFirst,
  }
}

function isLimit(name: string): name is keyof Limits {
  return Object.hasOwn(defaultSettings.limits, name)
}
