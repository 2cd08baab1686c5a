import type { AgentContext } from '../../src/machines/index.ts'

/** One, and another one where room has to be made for it. */
const MOST_CLOSING_CALLS = 2

/**
 * What is left for a run to do, as docs/limits.md has it: closing calls, steps, attempts, calls. Compared from left to
 * right, it falls with every cycle of the chart.
 */
export function measureOf({ closings, step, attempt, calls, settings }: AgentContext): readonly number[] {
  const { conclude = 0 } = settings.limits.steps
  return [
    MOST_CLOSING_CALLS - closings,
    conclude - step,
    settings.modelRetries + 1 - attempt,
    calls.reduce(
      (left, { answer, approval }) =>
        left + (answer === undefined ? 1 : 0) + (approval === 'pending' ? 1 : 0),
      0,
    ),
  ]
}

/** Whether one measure is below another. */
export function isBelow(measure: readonly number[], before: readonly number[]): boolean {
  const first = measure.findIndex((left, i) => left !== before[i])
  return first !== -1 && (measure[first] ?? 0) < (before[first] ?? 0)
}
