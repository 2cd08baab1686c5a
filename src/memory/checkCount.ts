import { MisuseError } from '../errors.ts'

/** @throws MisuseError `invalid_memory` where a count is not a whole number of at least 1. */
export function checkCount(what: string, count: number): number {
  if (Number.isInteger(count) && count >= 1) return count
  throw new MisuseError(
    'invalid_memory',
    `${what} must be a whole number of at least 1, not ${String(count)}.`,
  )
}
