import { MisuseError } from '../errors.ts'
import { waitsMs } from '../waits.ts'
import { isOff } from './limits/ladder.ts'
import { defaultLadders, type Ladders, type Limits, resolveLadders } from './limits/limits.ts'
import type { Price, Prices } from './prices.ts'

/** What steers a run, in plain JSON. Recorded in its journal, so that a resumed run goes on under the same settings. */
export interface RunSettings {
  readonly limits: Ladders
  /** What models cost. Default: nothing is known of that. */
  readonly prices: Prices
  /** How often one model call is tried again after an error that may pass. Default: 2. */
  readonly modelRetries: number
  /** Milliseconds before each of these attempts; the last one holds for all further ones. Default: exponential. */
  readonly modelRetryDelaysMs?: readonly number[]
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
  limits: defaultLadders,
  prices: {},
  modelRetries: 2,
  missingCalls: 'nudge',
  runApprovedFirst: false,
}

/** Settings as a user gives them: what is left out keeps its default. `Infinity` switches a limit off. */
export interface SettingsInput {
  readonly limits?: Partial<Limits> | undefined
  readonly prices?: Prices | undefined
  readonly modelRetries?: number | undefined
  readonly modelRetryDelaysMs?: readonly number[] | undefined
  readonly missingCalls?: RunSettings['missingCalls'] | undefined
  readonly runApprovedFirst?: boolean | undefined
}

/** @throws MisuseError `invalid_limit`, `invalid_price`, `invalid_timeout` or `invalid_option` for what cannot be. */
export function resolveSettings(input: SettingsInput, base: RunSettings = defaultSettings): RunSettings {
  const limits = resolveLadders(input.limits ?? {}, base.limits)
  const prices = checkedPrices(input.prices ?? base.prices)
  if (!isOff(limits.cost) && Object.keys(prices).length === 0) {
    throw new MisuseError(
      'missing_price',
      "limits.cost needs prices, per million tokens: prices: { 'gpt-4.1': { input: 2, output: 8 } }.",
    )
  }
  const modelRetryDelaysMs = input.modelRetryDelaysMs ?? base.modelRetryDelaysMs
  const modelRetries = input.modelRetries ?? input.modelRetryDelaysMs?.length ?? base.modelRetries
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
    prices,
    modelRetries,
    ...(modelRetryDelaysMs === undefined
      ? {}
      : { modelRetryDelaysMs: waitsMs('modelRetryDelaysMs', modelRetryDelaysMs) }),
    missingCalls,
    runApprovedFirst: input.runApprovedFirst ?? base.runApprovedFirst,
  }
}

function checkedPrices(prices: Prices): Prices {
  const isAmount = (amount: unknown): boolean =>
    typeof amount === 'number' && amount >= 0 && Number.isFinite(amount)
  for (const [model, price] of Object.entries(prices) as [string, Partial<Price> | null][]) {
    const { input, cachedInput = 0, output } = price ?? {}
    if (isAmount(input) && isAmount(output) && isAmount(cachedInput)) continue
    throw new MisuseError(
      'invalid_price',
      `prices["${model}"] must be { input, output }, and cachedInput where it differs: each a number of at least 0 per ` +
        'million tokens.',
    )
  }
  return prices
}
