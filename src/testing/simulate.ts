import type { Agent } from '../agent.ts'
import type { AgentInput } from '../machines/context.ts'
import type { Outcome } from '../machines/outcome.ts'
import { StagedAgent, type StagingOptions } from './double/stagedAgent.ts'
import { requireCount, requireRate } from './optionChecks.ts'
import { seededRandom } from './random.ts'
import { answersAtRate, type Behaviour } from './simulation/behaviour.ts'
import { checkedFaults, type Faults } from './simulation/faults.ts'
import { checkedLatency, type Latency } from './simulation/latency.ts'
import { SimulatedRun, type World } from './simulation/simulatedRun.ts'
import { type SimulationReport, Tally } from './simulation/simulationReport.ts'

/** Where there are several samples or results for a tool, one of them is picked each time. */
export interface SimulateOptions<Output = unknown> extends StagingOptions {
  /** Default: 1000. */
  readonly runs?: number
  /** The same seed gives the same report. Any whole number. Default: 1. */
  readonly seed?: number
  /** What the runs are asked, with a history before it or limits of its own where you like. Default: a question. */
  readonly input?: AgentInput
  /** How often things go wrong. Default: never. */
  readonly faults?: Partial<Faults>
  /** How long a model call takes. Default: evenly between 500 and 3000 milliseconds. */
  readonly modelLatencyMs?: Latency
  /** How long a tool call takes. Default: evenly between 50 and 500 milliseconds. */
  readonly toolLatencyMs?: Latency
  /** The chance that a step answers instead of calling a tool. Default: 0.3. */
  readonly answerRate?: number
  /** What the model does, in place of that. */
  readonly behaviour?: Behaviour
  /** The chance that a person approves a call that needs it. Default: 1. */
  readonly approvalRate?: number
  /** Shown each outcome, and the number of its run from 0. */
  readonly onOutcome?: (outcome: Outcome<Output>, run: number) => void
}

const DEFAULT_RUNS = 1000
const DEFAULT_ANSWER_RATE = 0.3
const DEFAULT_MODEL_LATENCY_MS: Latency = [500, 3000]
const DEFAULT_TOOL_LATENCY_MS: Latency = [50, 500]
const DEFAULT_QUESTION = 'What is new?'

/**
 * Runs an agent many times with a simulated model, simulated tools and virtual time, and counts how the runs end and
 * what they take, so that limits can be chosen from numbers. Memory, limits, instructions, output schema, tool schemas
 * and approval rules are the agent's own.
 *
 * @returns What came of the runs. Rejects with a `MisuseError` for options that cannot work, and with what your own
 * `behaviour` throws.
 */
export async function simulate<Output>(
  agent: Agent<Output>,
  options: SimulateOptions<Output> = {},
): Promise<SimulationReport> {
  const { runs = DEFAULT_RUNS, seed = 1, input = DEFAULT_QUESTION, onOutcome } = options
  requireCount('runs', runs)
  const world = worldOf(agent, options)
  const seeds = seededRandom(seed)
  const tally = new Tally()
  for (let run = 0; run < runs; run++) {
    const { outcome, ms } = await new SimulatedRun(world, `simulated-${run}`, seeds() * 2 ** 32).lead(input)
    tally.add(outcome, ms)
    onOutcome?.(outcome, run)
  }
  return tally.report(seed)
}

function worldOf<Output>(agent: Agent<Output>, options: SimulateOptions<Output>): World<Output> {
  const { approvalRate = 1, answerRate = DEFAULT_ANSWER_RATE } = options
  requireRate('answerRate', answerRate)
  requireRate('approvalRate', approvalRate)
  return {
    agent: new StagedAgent(agent, options),
    approvalRate,
    behaviour: options.behaviour ?? answersAtRate(answerRate),
    faults: checkedFaults(options.faults ?? {}),
    modelLatencyMs: checkedLatency('modelLatencyMs', options.modelLatencyMs ?? DEFAULT_MODEL_LATENCY_MS),
    toolLatencyMs: checkedLatency('toolLatencyMs', options.toolLatencyMs ?? DEFAULT_TOOL_LATENCY_MS),
  }
}
