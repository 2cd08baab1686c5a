import { delay } from '../../delay.ts'
import { inEnvironment } from '../../environment.ts'
import { LoopchartError } from '../../errors.ts'
import type { Journal } from '../../journal/entry.ts'
import { memoryJournal } from '../../journal/memoryJournal.ts'
import type { AgentInput } from '../../machines/context.ts'
import type { Outcome } from '../../machines/outcome.ts'
import { type ModelReply, noUsage } from '../../messages/reply.ts'
import type { ModelIO, ModelRequest } from '../../models/model.ts'
import type { Tool, ToolContext } from '../../tools/tool.ts'
import type { Player } from '../double/agentDouble.ts'
import { settle } from '../double/settle.ts'
import type { StagedAgent } from '../double/stagedAgent.ts'
import { VirtualEnvironment } from '../double/virtualEnvironment.ts'
import { pick, type Random, seededRandom } from '../random.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../scriptedModel.ts'
import type { Behaviour } from './behaviour.ts'
import { type Faults, modelFault, toolFault } from './faults.ts'

/** What all runs of a simulation have in common. */
export interface World<Output> {
  readonly agent: StagedAgent<Output>
  readonly behaviour: Behaviour
  readonly faults: Faults
  readonly modelLatencyMs: (random: Random) => number
  readonly toolLatencyMs: (random: Random) => number
  /** The chance that a person approves a call. */
  readonly approvalRate: number
}

/** How long a run may stand still without anything that holds it up, in real milliseconds. */
const PATIENCE_MS = 5000

/** One simulated run. All of it follows from its seed. */
export class SimulatedRun<Output> implements Player {
  readonly journal: Journal = memoryJournal()
  readonly #world: World<Output>
  readonly #id: string
  readonly #random: Random
  readonly #environment: VirtualEnvironment
  #modelCalls = 0
  #mistake: { readonly error: unknown } | undefined

  constructor(world: World<Output>, id: string, seed: number) {
    this.#world = world
    this.#id = id
    this.#random = seededRandom(seed)
    this.#environment = new VirtualEnvironment(this.#random)
  }

  /** @returns How it ended, and how many virtual milliseconds it took, without those that a person took to decide. */
  async lead(input: AgentInput): Promise<{ readonly outcome: Outcome<Output>; readonly ms: number }> {
    const { agent } = this.#world.agent.double
    let outcome = await this.#follow(() => agent.run(input, { runId: this.#id }))
    while (outcome.status === 'waiting') {
      const decisions = outcome.approvals.map(({ callId }) => ({
        callId,
        approved: this.#random() < this.#world.approvalRate,
      }))
      outcome = await this.#follow(() => agent.resume(this.#id, { decisions }))
    }
    return { outcome, ms: this.#environment.now() }
  }

  async answer(request: ModelRequest, io: ModelIO): Promise<ModelReply> {
    this.#modelCalls++
    const step = modelFault(this.#world.faults, request, this.#random) ?? (await this.#behave(request))
    if (step !== HANG) await delay(this.#world.modelLatencyMs(this.#random), io.signal)
    const reply = await scriptedModel([step]).generate(request, io)
    // Without usage of its own, a reply's tokens are estimated from what was sent.
    return typeof step === 'object' && 'usage' in step ? reply : { ...reply, usage: noUsage }
  }

  async run({ name }: Tool, { signal, idempotencyKey }: ToolContext): Promise<unknown> {
    const fault = toolFault(this.#world.faults, this.#random)
    if (fault === 'hang') return new Promise(() => {})
    await delay(this.#world.toolLatencyMs(this.#random), signal)
    if (fault === 'error') throw new Error('a simulated error')
    const results = this.#world.agent.resultsOf(name)
    return results.length === 0
      ? `${name} gives the result ${idempotencyKey.slice(this.#id.length + 1)}.`
      : pick(this.#random, results)
  }

  /** What is thrown here is for whoever wrote the simulation, and no failure of the model. */
  async #behave(request: ModelRequest): Promise<ScriptedStep> {
    const { agent, behaviour } = this.#world
    const answer = agent.answerTo(request)
    if (request.toolChoice === 'none') return answer
    try {
      return behaviour({
        request,
        call: this.#modelCalls,
        random: this.#random,
        answer,
        tools: await agent.callable(request),
        callOf: ({ name, samples }) => ({ name, arguments: pick(this.#random, samples) }),
      })
    } catch (error) {
      this.#mistake ??= { error }
      throw error
    }
  }

  #follow(begin: () => Promise<Outcome<Output>>): Promise<Outcome<Output>> {
    return this.#world.agent.double.played(this, () =>
      inEnvironment(this.#environment, async () => {
        const settled = await settle(begin(), (stillForMs) => {
          if (this.#mistake !== undefined) return 'give up'
          if (this.#environment.timers === 0) return stillForMs < PATIENCE_MS ? 'wait' : 'give up'
          this.#environment.advance()
          return 'moved'
        })
        if (this.#mistake !== undefined) throw this.#mistake.error
        if (settled === undefined) throw stuck()
        if (!settled.ok) throw settled.thrown
        return settled.value
      }),
    )
  }
}

function stuck(): LoopchartError {
  return new LoopchartError(
    'run_stuck',
    `A simulated run stood still for ${PATIENCE_MS} ms: something of the agent's own (its memory, an approval rule, a ` +
      'schema) does not come back, and nothing bounds it.',
  )
}
