import { environment } from './environment.ts'

/** How waits between attempts grow. */
export interface Backoff {
  /** The first wait is at most this long, each further one twice as long. Milliseconds. */
  readonly baseMs: number
  /** No wait is longer. Milliseconds. */
  readonly capMs: number
}

/**
 * The wait before the next attempt, in milliseconds: as the user says, else an exponential one.
 *
 * @param failures How many attempts have failed: 1 before the first retry.
 * @param waits What the user says: the wait before each retry; the last one holds for all further ones.
 */
export function waitAfter(failures: number, waits: readonly number[] | undefined, backoff: Backoff): number {
  return waits?.[Math.min(failures, waits.length) - 1] ?? fullJitter(failures, backoff)
}

/**
 * Exponential back-off with full jitter, which spreads clients that failed together.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 *
 * @param failures How many attempts have failed: 1 before the first retry.
 */
export function fullJitter(failures: number, { baseMs, capMs }: Backoff): number {
  return environment().random() * Math.min(capMs, baseMs * 2 ** (failures - 1))
}
