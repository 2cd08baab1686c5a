import { getEventListeners } from 'node:events'
import type { RunOptions } from '../../agent.ts'
import { checkedInput } from '../../checks.ts'
import { inEnvironment } from '../../environment.ts'
import { messageOf } from '../../errors.ts'
import type { Journal, JournalEntry } from '../../journal/entry.ts'
import { memoryJournal } from '../../journal/memoryJournal.ts'
import { type AgentInput, messagesOf } from '../../machines/context.ts'
import type { Outcome, PendingApproval } from '../../machines/outcome.ts'
import type { Decision } from '../../machines/reducers.ts'
import { type ModelReply, noUsage } from '../../messages/reply.ts'
import type { Message } from '../../messages/types.ts'
import type { ModelIO, ModelRequest } from '../../models/model.ts'
import type { AgentEvent } from '../../runtime/events.ts'
import type { Tool, ToolContext } from '../../tools/tool.ts'
import type { Player } from '../double/agentDouble.ts'
import { type AtRest, settle, turn } from '../double/settle.ts'
import type { CallableTool, StagedAgent } from '../double/stagedAgent.ts'
import { VirtualEnvironment } from '../double/virtualEnvironment.ts'
import { scriptedModel } from '../scriptedModel.ts'
import {
  approvalChoices,
  CANCEL,
  type Choice,
  closingChoices,
  type Habit,
  modelChoices,
  NEVER,
  toolChoices,
  waitChoices,
} from './choices.ts'
import { flawOfRequest, flawOfTranscript } from './judgeRequest.ts'
import { type Breach, type PromiseName, Story } from './story.ts'

/** A moment at which the world decides how a run goes on. */
export interface DecisionPoint {
  /** Names the moment, the same when the run is resumed and comes to it again. */
  readonly key: string
  /** What can happen; the first is what happens where nobody says otherwise. */
  readonly alternatives: readonly string[]
}

export interface Decided extends DecisionPoint {
  readonly name: string
  /** Whether it followed from an earlier choice, such as `goes on`. */
  readonly automatic: boolean
  /** Entries in the journal at that moment. */
  readonly recorded: number
}

/** Says what happens at a moment; `undefined` for the first alternative. */
export type Chooser = (point: DecisionPoint) => string | undefined

/** What all paths of a check have in common. */
export interface Stage<Output> {
  readonly agent: StagedAgent<Output>
  readonly input: AgentInput
  /** What the person said last. */
  readonly question: Message | undefined
  /** How long a run may stand still without anything that holds it up, in real milliseconds. */
  readonly patienceMs: number
}

/** @throws MisuseError for an input that no run could have. */
export function stageOf<Output>(agent: StagedAgent<Output>, input: AgentInput): Stage<Output> {
  const { messages } = checkedInput(input)
  return {
    agent,
    input,
    question: messagesOf(messages).findLast(({ role }) => role === 'user'),
    patienceMs: PATIENCE_MS,
  }
}

export interface PlayOptions {
  readonly runId?: string
  /** What is left of an earlier play of the run. */
  readonly crash?: {
    readonly entries: readonly JournalEntry[]
    /** Model calls that have settled. */
    readonly modelCalls: number
    /** The tools that the model was offered last. */
    readonly offered: readonly CallableTool[]
  }
}

/** Real milliseconds. */
const PATIENCE_MS = 2000

/** Turns of the event loop within which a run that was cancelled has to end. */
const TURNS_TO_CANCEL = 20

/** Model calls of a habit after which the model answers: an agent may have no limits. */
const HABIT_LENGTH = 30

/** One run of an agent along a path: the world decides as it is told, and everything that can be seen is kept. */
export class Play<Output> implements Player {
  readonly story: Story = new Story()
  readonly decisions: Decided[] = []
  readonly requests: ModelRequest[] = []
  readonly events: AgentEvent[] = []
  /** How often each tool call was executed, by place. */
  readonly executions: Map<string, { readonly tool: Tool; count: number }> = new Map()
  readonly journal: Journal
  readonly environment: VirtualEnvironment
  /** The first promise that did not hold. */
  breach: Breach | undefined
  /** A mistake of whoever wrote the check. */
  misuse: { readonly error: unknown } | undefined
  /** How it ended; of several resumptions, the last. */
  outcome: Outcome<Output> | undefined
  cancelled = false
  /** Model calls so far, the closing ones included. */
  modelCalls: number
  closingCalls = 0

  readonly #stage: Stage<Output>
  readonly #choose: Chooser
  readonly #runId: string
  readonly #isResumed: boolean
  readonly #controller = new AbortController()
  /** Makes what was given up come back. */
  readonly #late: (() => void)[] = []
  #recorded = 0
  #hanging = 0
  #waits = 0
  #habit: { readonly habit: Habit; readonly name: string } | undefined
  #offered: readonly CallableTool[]
  #turnsSinceCancel = 0

  constructor(stage: Stage<Output>, choose: Chooser, { runId = 'check', crash }: PlayOptions = {}) {
    this.#stage = stage
    this.#choose = choose
    this.#runId = runId
    this.#isResumed = crash !== undefined
    this.modelCalls = crash?.modelCalls ?? 0
    this.#offered = crash?.offered ?? []
    // The process dies and another takes the run up at the same moment.
    this.environment = new VirtualEnvironment(undefined, crash?.entries.at(-1)?.at)
    const kept = memoryJournal()
    if (crash !== undefined) kept.append(runId, crash.entries, 0)
    this.#recorded = crash?.entries.length ?? 0
    this.journal = {
      ...kept,
      append: (id, entries, length) => {
        this.#recorded += entries.length
        return kept.append(id, entries, length)
      },
    }
  }

  /** Runs, or goes on with what the journal holds, until nothing is left to decide. */
  async lead(): Promise<void> {
    const { input, agent: staged } = this.#stage
    const { agent } = staged.double
    const options: RunOptions = { signal: this.#controller.signal, onEvent: (event) => this.#see(event) }
    if (!this.#isResumed) this.story.tell('The run begins.')
    let outcome = await this.#follow(() =>
      this.#isResumed
        ? agent.resume(this.#runId, options)
        : agent.run(input, { ...options, runId: this.#runId }),
    )
    while (outcome?.status === 'waiting' && this.breach === undefined) {
      this.#look(outcome)
      const decisions = outcome.approvals.map((pending) => this.#decideApproval(pending))
      outcome = await this.#follow(() => agent.resume(this.#runId, { ...options, decisions }))
    }
    this.outcome = outcome
    if (outcome !== undefined) this.#look(outcome)
    await this.#clearUp()
  }

  /** The journal as it is. */
  async entries(): Promise<readonly JournalEntry[]> {
    return (await this.journal.load(this.#runId)) ?? []
  }

  get offered(): readonly CallableTool[] {
    return this.#offered
  }

  /** The choices of the path, as one gives them to walk it again. */
  get path(): string {
    return this.decisions
      .filter(({ automatic }) => !automatic)
      .map(({ name }) => name)
      .join(', ')
  }

  broken(promise: PromiseName, expected: string, got: string): void {
    if (this.breach !== undefined) return
    this.breach = { promise, expected, got, path: this.path }
    this.story.end()
  }

  async answer(request: ModelRequest, io: ModelIO): Promise<ModelReply> {
    const closing = request.toolChoice === 'none'
    this.modelCalls++
    if (closing) this.closingCalls++
    this.#waits = 0
    this.requests.push(request)
    this.#checkRequest(request.messages)
    const { act } = await this.#chooseReply(request, closing)
    if (act === CANCEL) this.#cancel()
    if (act === NEVER || act === CANCEL) return this.#hang(io.signal, lateReply)
    return scriptedModel([typeof act === 'object' && 'habit' in act ? act.step : act]).generate(request, io)
  }

  async run(tool: Tool, context: ToolContext): Promise<unknown> {
    const place = context.idempotencyKey.slice(this.#runId.length + 1)
    const execution = this.executions.get(place) ?? { tool, count: 0 }
    execution.count++
    this.executions.set(place, execution)
    if (this.closingCalls > 0) {
      this.broken(
        'bounded',
        'no tool runs once a limit has concluded the run',
        `${tool.name} ran at ${place}`,
      )
    }
    const choices = toolChoices({ name: tool.name, place }, this.#stage.agent.resultsOf(tool.name))
    const followed = this.#habit && (this.#habit.habit === 'loops' ? 'same' : 'ok')
    const { act } = this.#decide(`${place}#${execution.count}`, choices, followed)
    if (act === CANCEL) this.#cancel()
    if (act === NEVER || act === CANCEL) return this.#hang(context.signal, new Error('a late result'))
    if ('throws' in act) throw act.throws
    return act.returns
  }

  async #chooseReply(request: ModelRequest, closing: boolean) {
    const { agent } = this.#stage
    const answer = agent.answerTo(request)
    const key = `model ${this.modelCalls}`
    if (closing) return this.#decide(key, closingChoices(request, this.#offered, answer))
    this.#offered = await agent.callable(request).catch((error: unknown) => {
      throw this.#mistake(error)
    })
    const choices = modelChoices(request, this.#offered, answer)
    const chosen = this.#decide(key, choices, this.#habit && this.#nextOfHabit(choices))
    if (typeof chosen.act === 'object' && 'habit' in chosen.act) {
      this.#habit = { habit: chosen.act.habit, name: `call ${this.#offered[0]?.name}` }
    }
    return chosen
  }

  #nextOfHabit(choices: readonly { readonly name: string }[]): string {
    const wanted = this.#habit?.name ?? ''
    const may = choices.some(({ name }) => name === wanted) && this.modelCalls <= HABIT_LENGTH
    return may ? wanted : 'answer'
  }

  /** @param followed What follows from an earlier choice, where something does. */
  #decide<Act>(key: string, choices: readonly Choice<Act>[], followed?: string): Choice<Act> {
    const alternatives = choices.map(({ name }) => name)
    const wanted = followed ?? this.#wanted({ key, alternatives })
    const chosen = choices.find(({ name }) => name === wanted) ?? (choices[0] as Choice<Act>)
    this.decisions.push({
      key,
      alternatives,
      name: chosen.name,
      automatic: followed !== undefined,
      recorded: this.#recorded,
    })
    this.story.tell(chosen.told)
    return chosen
  }

  #decideApproval({ callId, name, token }: PendingApproval): Decision {
    const { act: approved } = this.#decide(
      `approval ${callId}`,
      approvalChoices(name),
      this.#habit && 'approve',
    )
    return { callId, approved, ...(token === undefined ? {} : { token }) }
  }

  #follow(begin: () => Promise<Outcome<Output>>): Promise<Outcome<Output> | undefined> {
    return this.#stage.agent.double.played(this, () =>
      inEnvironment(this.environment, async () => {
        const settled = await settle(begin(), (stillForMs) => this.#atRest(stillForMs))
        if (settled?.ok === true) return settled.value
        if (settled !== undefined) {
          this.broken(
            'one outcome',
            'a run settles with an outcome',
            `it rejected: ${messageOf(settled.thrown)}`,
          )
        }
        return undefined
      }),
    )
  }

  /** Everything that could run has run: what holds the run up is a script, a clock, or a fault. */
  #atRest(stillForMs: number): 'moved' | AtRest {
    if (this.misuse !== undefined) return 'give up'
    if (this.cancelled) {
      if (++this.#turnsSinceCancel <= TURNS_TO_CANCEL) return 'wait'
      this.broken('it settles', 'a run that is cancelled settles at once', 'it did not')
      return 'give up'
    }
    if (this.environment.timers > 0) {
      if (this.#hanging > 0 || this.#waitPasses()) this.environment.advance()
      return 'moved'
    }
    const { patienceMs } = this.#stage
    if (stillForMs < patienceMs) return 'wait'
    this.broken(
      'it settles',
      'a run goes on or ends',
      `nothing happened for ${patienceMs} ms: something of the agent's own (its memory, an approval rule, a schema) ` +
        'does not come back, and nothing bounds it',
    )
    return 'give up'
  }

  #waitPasses(): boolean {
    const key = `wait ${this.modelCalls}.${++this.#waits}`
    const { act } = this.#decide(key, waitChoices)
    if (act === CANCEL) this.#cancel()
    return act === 'pass'
  }

  #cancel(): void {
    this.cancelled = true
    this.#controller.abort()
  }

  /** Never settles while anybody waits for it; afterwards it does, to see that it changes nothing. */
  #hang<Value>(signal: AbortSignal, late: Value | Error): Promise<Value> {
    this.#hanging++
    const release = (): void => void this.#hanging--
    if (signal.aborted) release()
    else signal.addEventListener('abort', release, { once: true })
    return new Promise((resolve, reject) => {
      this.#late.push(() => (late instanceof Error ? reject(late) : resolve(late)))
    })
  }

  #see(event: AgentEvent): void {
    this.events.push(event)
    if (event.type === 'transition') this.story.move(event)
    if (this.cancelled && (event.type === 'tool.started' || event.type === 'model.started')) {
      this.broken('it settles', 'nothing begins once a run is cancelled', `${event.type} at ${event.place}`)
    }
  }

  #wanted(point: DecisionPoint): string | undefined {
    try {
      return this.#choose(point)
    } catch (error) {
      throw this.#mistake(error)
    }
  }

  /** Notes what is for whoever wrote the check, and no answer of a model or a tool. */
  #mistake(error: unknown): unknown {
    this.misuse ??= { error }
    return error
  }

  #checkRequest(messages: readonly Message[]): void {
    const first = this.requests[0]?.messages ?? messages
    const { question } = this.#stage
    const flaw = flawOfRequest(messages, { first, question, number: this.requests.length })
    if (flaw !== undefined) this.broken('always sendable', flaw.expected, flaw.got)
  }

  #look({ transcript }: Outcome<Output>): void {
    const flaw = flawOfTranscript(transcript)
    if (flaw !== undefined) this.broken('always sendable', flaw.expected, flaw.got)
  }

  /** What was given up comes back late, and must change nothing; nothing may be left behind. */
  async #clearUp(): Promise<void> {
    if (this.outcome === undefined) return
    const { length } = this.events
    for (const comeBack of this.#late) comeBack()
    await turn()
    const { signal } = this.#controller
    if (this.events.length > length) {
      this.broken(
        'it settles',
        'late results change nothing',
        `an event followed the end: ${this.events[length]?.type}`,
      )
    }
    if (this.environment.timers > 0) {
      this.broken('it settles', 'no timer is left', `${this.environment.timers} are running after the end`)
    }
    const listeners = getEventListeners(signal, 'abort').length
    if (listeners > 0) {
      this.broken('it settles', "no listener is left on the caller's signal", `${listeners} are`)
    }
  }
}

/** What a model says that nobody waits for any more. */
const lateReply: ModelReply = {
  text: 'a late reply',
  toolCalls: [],
  finish: 'stop',
  usage: noUsage,
  message: { role: 'assistant', content: 'a late reply' },
}
