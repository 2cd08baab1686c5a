import { MisuseError } from './errors.ts'

/** The longest wait between two attempts that makes sense, a day. */
const LONGEST_WAIT_MS = 86_400_000

/**
 * Waits between attempts, in milliseconds.
 *
 * @returns A copy, which nobody else can change.
 * @throws MisuseError `invalid_timeout` for anything but a list of numbers from 0 to a day.
 */
export function waitsMs(name: string, waits: readonly number[]): readonly number[] {
  const isWait = (wait: unknown): boolean => typeof wait === 'number' && wait >= 0 && wait <= LONGEST_WAIT_MS
  if (Array.isArray(waits) && waits.length > 0 && Array.from(waits).every(isWait)) return [...waits]
  throw new MisuseError(
    'invalid_timeout',
    `${name} must be a list of milliseconds, such as [500, 1000, 2000], each of at most a day, not ${JSON.stringify(waits)}.`,
  )
}
