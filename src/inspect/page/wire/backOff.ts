const FIRST_MS = 300
const MOST_MS = 10_000

/**
 * Milliseconds before the next attempt to connect: doubled with each failure, up to ten seconds.
 *
 * @param chance Between 0 and 1: up to half of the wait is left out, so that many pages do not come back at once.
 */
export function backOffMs(failures: number, chance: number): number {
  const wait = Math.min(MOST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1))
  return Math.round(wait * (1 - chance / 2))
}
