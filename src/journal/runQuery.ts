import { MisuseError } from '../errors.ts'
import type { RunQuery, RunStatus } from './entry.ts'

const DEFAULT_LIMIT = 100

export const runStatuses: readonly RunStatus[] = ['running', 'waiting', 'done', 'aborted']

/**
 * A query with its defaults.
 *
 * @throws MisuseError `invalid_query` for a limit that is no whole number of at least 1, or an unknown status.
 */
export function checkedQuery({ status, limit = DEFAULT_LIMIT, before }: RunQuery = {}): RunQuery & {
  readonly limit: number
} {
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new MisuseError(
      'invalid_query',
      `limit must be a whole number of at least 1, not ${String(limit)}. For all runs, ask page by page with before.`,
    )
  }
  if (status !== undefined && !runStatuses.includes(status)) {
    throw new MisuseError(
      'invalid_query',
      `status must be one of ${runStatuses.join(', ')}, not ${JSON.stringify(status)}.`,
    )
  }
  return { status, limit, before }
}

/** @throws MisuseError `invalid_query` for what is no time: nothing must be removed by mistake. */
export function checkedTime(endedBefore: number): number {
  if (typeof endedBefore === 'number' && !Number.isNaN(endedBefore)) return endedBefore
  throw new MisuseError(
    'invalid_query',
    `endedBefore must be a time in milliseconds since 1970, not ${String(endedBefore)}.`,
  )
}
