import { LONGEST_TIMER_MS } from './delay.ts'
import { MisuseError } from './errors.ts'

/**
 * A number of milliseconds that a timer can hold. `Infinity` is held as long as a timer can.
 *
 * @throws MisuseError `invalid_timeout` for anything but a number above 0.
 */
export function timeoutMs(name: string, value: number): number {
  if (typeof value === 'number' && value > 0) return Math.min(value, LONGEST_TIMER_MS)
  throw new MisuseError(
    'invalid_timeout',
    `${name} must be a number of milliseconds above 0, not ${String(value)}.`,
  )
}
