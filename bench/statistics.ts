/** A middle and how far the middle half spreads around it. */
export interface Spread {
  readonly median: number
  readonly lower: number
  readonly upper: number
  /** What nothing disturbed. */
  readonly least: number
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  return {
    median: quantile(sorted, 0.5),
    lower: quantile(sorted, 0.25),
    upper: quantile(sorted, 0.75),
    least: quantile(sorted, 0),
  }
}

function quantile(sorted: readonly number[], share: number): number {
  const position = (sorted.length - 1) * share
  const below = Math.floor(position)
  const low = sorted[below] ?? Number.NaN
  const high = sorted[below + 1] ?? low
  return low + (high - low) * (position - below)
}
