import type { Outcome } from '../../machines/outcome.ts'
import { endingOf } from '../endingOf.ts'
import { type Distribution, distributionOf } from './distribution.ts'

/** What came of many simulated runs. */
export interface SimulationReport {
  readonly runs: number
  readonly seed: number
  /** How often each ending came: `done`, `done (steps)` where a limit forced the answer, `aborted (model_error)`. */
  readonly endings: Readonly<Record<string, number>>
  /** How many runs had an answer, whether or not a limit forced it. */
  readonly answered: number
  /** How many runs each limit ended. */
  readonly stoppedBy: Readonly<Record<string, number>>
  /** Model calls that could ask for tools. */
  readonly steps: Distribution
  readonly toolCalls: Distribution
  /** Tokens in and out, as far as they can be estimated from the length of what was sent. */
  readonly tokens: Distribution
  /** Virtual milliseconds, without those that a person took to decide. */
  readonly ms: Distribution
  /** A table. */
  toString(): string
}

/** Collects what came of runs. */
export class Tally {
  readonly #endings: Record<string, number> = {}
  readonly #stoppedBy: Record<string, number> = {}
  readonly #steps: number[] = []
  readonly #toolCalls: number[] = []
  readonly #tokens: number[] = []
  readonly #ms: number[] = []
  #answered = 0

  add<Output>(outcome: Outcome<Output>, ms: number): void {
    count(this.#endings, endingOf(outcome))
    if (outcome.status === 'done') this.#answered++
    if ('stoppedBy' in outcome && outcome.stoppedBy !== undefined)
      count(this.#stoppedBy, outcome.stoppedBy.limit)
    this.#steps.push(outcome.steps)
    this.#toolCalls.push(outcome.toolCalls.total)
    this.#tokens.push(outcome.usage.inputTokens + outcome.usage.outputTokens)
    this.#ms.push(Math.round(ms))
  }

  report(seed: number): SimulationReport {
    const facts = {
      runs: this.#steps.length,
      seed,
      endings: this.#endings,
      answered: this.#answered,
      stoppedBy: this.#stoppedBy,
      steps: distributionOf(this.#steps),
      toolCalls: distributionOf(this.#toolCalls),
      tokens: distributionOf(this.#tokens),
      ms: distributionOf(this.#ms),
    }
    return { ...facts, toString: () => tableOf(facts) }
  }
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1
}

const columns = ['p50', 'p90', 'p99', 'max'] as const
const NAME_WIDTH = 32
const NUMBER_WIDTH = 9

function tableOf({ runs, seed, answered, endings, ...facts }: Omit<SimulationReport, 'toString'>): string {
  const row = (name: string, cells: readonly (string | number)[]): string =>
    `${name.padEnd(NAME_WIDTH)}${cells.map((cell) => String(cell).padStart(NUMBER_WIDTH)).join('')}`
  const share = (some: number): string => `${((100 * some) / (runs || 1)).toFixed(1)} %`
  const spread = (name: string, distribution: Distribution): string =>
    row(
      name,
      columns.map((column) => distribution[column]),
    )
  return [
    `${runs} runs, seed ${seed}: ${share(answered)} answered`,
    '',
    row('ending', ['runs', 'share']),
    ...Object.entries(endings)
      .toSorted(([, a], [, b]) => b - a)
      .map(([ending, some]) => row(ending, [some, share(some)])),
    '',
    row('', columns),
    spread('steps', facts.steps),
    spread('tool calls', facts.toolCalls),
    spread('tokens', facts.tokens),
    spread('milliseconds', facts.ms),
  ].join('\n')
}
