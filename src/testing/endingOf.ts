import type { Outcome } from '../machines/outcome.ts'

/** How a run ended, for a table: `done`, `done (steps)` where a limit forced the answer, `aborted (model_error)`. */
export function endingOf<Output>(outcome: Outcome<Output> | undefined): string {
  if (outcome === undefined) return 'none'
  const detail =
    outcome.status === 'aborted'
      ? outcome.reason
      : 'stoppedBy' in outcome
        ? outcome.stoppedBy?.limit
        : undefined
  return detail === undefined ? outcome.status : `${outcome.status} (${detail})`
}
