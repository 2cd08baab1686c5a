import type { AgentContext } from '../context.ts'
import { isOff, type LimitLadder, lastOf } from './ladder.ts'
import { type LimitName, limitNames } from './limits.ts'

/** How far a limit has counted, and where it reacts. Milliseconds for `time`, the currency of the prices for `cost`. */
export interface LimitGauge extends LimitLadder {
  readonly limit: LimitName
  readonly used: number
  /** The count at which the run does not go on as it did; absent where the limit only warns. */
  readonly max?: number
}

/** What each limit has counted. */
const counts: { readonly [Name in LimitName]: (context: AgentContext) => number } = {
  steps: ({ step }) => step,
  repeats: ({ progress: { repeated } }) => Math.max(0, ...repeated.map(({ count }) => count)),
  errorStreak: ({ progress: { failures } }) =>
    failures.byTool.reduce((most, { count }) => Math.max(most, count), failures.streak),
  sameCalls: ({ progress: { askedAgain } }) => Math.max(0, ...askedAgain.map(({ count }) => count)),
  stagnation: ({ progress: { stagnantSteps } }) => stagnantSteps,
  malformed: ({ malformed }) => malformed,
  time: ({ elapsedMs }) => elapsedMs,
  tokens: ({ usage }) => usage.inputTokens + usage.outputTokens,
  cost: ({ cost }) => cost,
  toolCalls: ({ toolCalls }) => toolCalls,
}

/** One for each limit that is on, in the order of `Limits`. Limits of the agent's own have no count to show. */
export function gaugesOf(context: AgentContext): readonly LimitGauge[] {
  const { limits } = context.settings
  return limitNames.flatMap((limit) => {
    const ladder = limits[limit]
    if (isOff(ladder)) return []
    const max = lastOf(ladder)
    return [{ limit, used: counts[limit](context), ...(max === Infinity ? {} : { max }), ...ladder }]
  })
}
