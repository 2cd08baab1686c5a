/** How a number is spread over many runs. */
export interface Distribution {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

/** Percentiles by nearest rank: each is a value that occurred. All 0 where there are no values. */
export function distributionOf(values: readonly number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b)
  const percentile = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
  return { p50: percentile(0.5), p90: percentile(0.9), p99: percentile(0.99), max: percentile(1) }
}
