import type { Agent } from '../agent.ts'
import type { PendingApproval } from '../machines/outcome.ts'
import type { AgentEvent } from '../runtime/events.ts'
import { keepEvent } from './keptEvent.ts'
import type { RunRow } from './protocol.ts'
import { questionIn } from './question.ts'
import { type BufferBounds, EventBuffer } from './timeline.ts'

export type AnyAgent = Agent<unknown>

/** Milliseconds for which pieces of a model's text are gathered to one event. */
const GATHER_MS = 50

/** Characters after which they are told at once. */
const GATHER_CHARACTERS = 2000

type Delta = Extract<AgentEvent, { type: 'model.delta' }>

/** What is known of a run that was under way while the inspector watched. */
export class LiveRun {
  readonly runId: string
  readonly agent: AnyAgent
  readonly buffer: EventBuffer
  /** How many entries its journal had when it was first seen; undefined where it was seen from its beginning. */
  readonly recorded: number | undefined
  readonly #told: (bytes: number) => void
  readonly #agentName: string | undefined
  readonly #startedAt: number
  #updatedAt: number
  #status: RunRow['status'] = 'running'
  #reason: RunRow['reason']
  #steps = 0
  #question: string | undefined
  #tokens: number | undefined
  #cost: number | undefined
  #approvals: readonly PendingApproval[] | undefined
  #gathered: Delta | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Messages of its transcript that were told. */
  #messages = 0
  /** Whether its life goes on now: the next messages are the whole transcript. */
  #goesOn = false

  /**
   * @param first The event with which the run began, or went on.
   * @param told Called after each event that was kept, with how much more memory the run holds now.
   */
  constructor(
    first: AgentEvent,
    agent: AnyAgent,
    {
      numbering,
      bounds,
      told,
    }: { readonly numbering: string; readonly bounds: BufferBounds; told(bytes: number): void },
  ) {
    this.runId = first.runId
    this.agent = agent
    this.buffer = new EventBuffer(numbering, bounds)
    this.recorded = first.type === 'run.started' ? first.recorded : undefined
    this.#agentName = agent.options.name
    this.#startedAt = first.at
    this.#updatedAt = first.at
    this.#told = told
  }

  /** Whether an event goes on from what is known; false where somebody else had the run meanwhile, or it is another one. */
  fits(event: AgentEvent): boolean {
    if (event.type === 'run.started') return event.resumed
    return !(this.#goesOn && event.type === 'messages.appended' && event.messages.length !== this.#messages)
  }

  take(event: AgentEvent): void {
    this.#updatedAt = event.at
    if (event.type === 'model.delta') {
      this.#gather(event)
      return
    }
    this.#tellGathered()
    this.#keep(event)
  }

  /** Nothing more is gathered. */
  close(): void {
    clearTimeout(this.#timer)
  }

  get updatedAt(): number {
    return this.#updatedAt
  }

  /** Whether the end of it was seen. */
  get hasEnded(): boolean {
    return this.#status !== 'running'
  }

  /** Whether it is under way in this process. */
  get isActive(): boolean {
    return !this.hasEnded && this.agent.activeRuns().some(({ runId }) => runId === this.runId)
  }

  row(isActive: boolean = this.isActive): RunRow {
    return {
      runId: this.runId,
      status: this.#status,
      isLive: isActive && !this.hasEnded,
      ...(this.#reason === undefined ? {} : { reason: this.#reason }),
      startedAt: this.#startedAt,
      updatedAt: this.#updatedAt,
      steps: this.#steps,
      ...(this.#question === undefined ? {} : { question: this.#question }),
      ...(this.#agentName === undefined ? {} : { agent: this.#agentName }),
      ...(this.#tokens === undefined ? {} : { tokens: this.#tokens }),
      ...(this.#cost === undefined ? {} : { cost: this.#cost }),
      ...(this.#approvals === undefined ? {} : { approvals: this.#approvals }),
    }
  }

  #gather(delta: Delta): void {
    const before = this.#gathered
    if (before !== undefined && before.place !== delta.place) this.#tellGathered()
    const text = (this.#gathered?.text ?? '') + delta.text
    this.#gathered = { ...(this.#gathered ?? delta), text }
    if (text.length >= GATHER_CHARACTERS) this.#tellGathered()
    else this.#timer ??= setTimeout(() => this.#tellGathered(), GATHER_MS).unref()
  }

  #tellGathered(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const gathered = this.#gathered
    if (gathered === undefined) return
    this.#gathered = undefined
    this.#keep(gathered)
  }

  #keep(event: AgentEvent): void {
    this.#note(event)
    const before = this.buffer.bytes
    this.buffer.push(keepEvent(event))
    this.#told(this.buffer.bytes - before)
  }

  #note(event: AgentEvent): void {
    switch (event.type) {
      case 'run.started':
        this.#status = 'running'
        this.#reason = undefined
        this.#approvals = undefined
        this.#goesOn = event.resumed
        break
      case 'messages.appended':
        this.#messages = event.messages.length + (this.#goesOn ? 0 : this.#messages)
        this.#goesOn = false
        this.#question ??= questionIn(event.messages)
        break
      case 'model.finished':
        this.#steps = Math.max(this.#steps, stepOf(event.place))
        break
      case 'usage.updated':
        this.#tokens = event.usage.inputTokens + event.usage.outputTokens
        this.#cost = event.cost
        break
      case 'run.finished': {
        const { outcome } = event
        this.#status = outcome.status
        if (outcome.status === 'aborted') this.#reason = outcome.reason
        if (outcome.status === 'waiting') this.#approvals = outcome.approvals
      }
    }
  }
}

/** The step of a model call that could ask for tools; 0 for another. */
function stepOf(place: string): number {
  const [kind, step] = place.split('.')
  return kind === 'model' ? Number(step) : 0
}
