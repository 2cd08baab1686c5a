import type { Coverage } from './chart.ts'

/** What a check has seen. */
export interface CheckReport extends Coverage {
  /** Runs from their beginning, each along another path. */
  readonly paths: number
  /** Runs that were cut off by a crash and resumed. */
  readonly resumptions: number
  /** Whether every path up to the depth was walked. */
  readonly complete: boolean
  readonly depth: number
  /** The most decisions on one path. */
  readonly longest: number
  /** How often each ending came: `done`, `done (steps)` where a limit forced the answer, `aborted (model_error)`. */
  readonly endings: Readonly<Record<string, number>>
  /** Real milliseconds. */
  readonly durationMs: number
  toString(): string
}

export function reportOf(facts: Omit<CheckReport, 'toString'>): CheckReport {
  return { ...facts, toString: () => textOf(facts) }
}

function textOf(facts: Omit<CheckReport, 'toString'>): string {
  const { paths, resumptions, complete, depth, longest, endings, states, transitions, durationMs } = facts
  const share = ({
    covered,
    uncovered,
  }: {
    covered: readonly string[]
    uncovered: readonly string[]
  }): string => `${covered.length} of ${covered.length + uncovered.length}`
  const extent = complete
    ? `every path of up to ${depth} choices`
    : `the shortest paths of up to ${depth} choices`
  return [
    `${paths} paths (${extent}; the longest had ${longest} decisions) and ${resumptions} resumptions, in ${Math.round(durationMs)} ms`,
    `states ${share(states)}, transitions ${share(transitions)}`,
    ...Object.entries(endings)
      .toSorted(([, a], [, b]) => b - a)
      .map(([ending, count]) => `${String(count).padStart(8)}  ${ending}`),
    ...(transitions.uncovered.length === 0
      ? []
      : ['not taken:', ...transitions.uncovered.map((edge) => `  ${edge}`)]),
  ].join('\n')
}
