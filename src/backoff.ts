import { environment } from './environment.ts'

/** How waits between attempts grow. */
export interface Backoff {
  /** The first wait is at most this long, each further one twice as long. Milliseconds. */
  readonly baseMs: number
  /** No wait is longer. Milliseconds. */
  readonly capMs: number
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
