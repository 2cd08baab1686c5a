import { MisuseError } from '../errors.ts'

/** @throws MisuseError `invalid_option` for anything but a whole number of at least 1. */
export function requireCount(name: string, value: number): void {
  if (Number.isInteger(value) && value >= 1) return
  throw new MisuseError(
    'invalid_option',
    `${name} must be a whole number of at least 1, not ${String(value)}.`,
  )
}

/** @throws MisuseError `invalid_option` for anything but a number from 0 to 1. */
export function requireRate(name: string, value: unknown): void {
  if (typeof value === 'number' && value >= 0 && value <= 1) return
  throw new MisuseError('invalid_option', `${name} must be a chance from 0 to 1, not ${String(value)}.`)
}
