/** Where a bar begins and how long it is, as parts of 1. */
export interface Span {
  readonly start: number
  readonly size: number
}

/** A time that is at least as long, and round, so that a scale which grows does so seldom: 1, 2 or 5 times a power of ten. */
export function roundScale(ms: number): number {
  if (!(ms > 10)) return 10
  const power = 10 ** Math.floor(Math.log10(ms))
  return (ms <= power ? 1 : ms <= 2 * power ? 2 : ms <= 5 * power ? 5 : 10) * power
}

/** @param to Absent while it goes on: until now. */
export function spanOf(from: number, to: number | undefined, now: number, scale: number): Span {
  const start = Math.min(1, Math.max(0, from / scale))
  const end = Math.min(1, Math.max(start, (to ?? Math.max(now, from)) / scale))
  return { start, size: end - start }
}
