import type { RunEvent, SettlingEvent } from '../journal/entry.ts'
import type { AgentContext } from '../machines/context.ts'
import type { EdgeName } from '../machines/edgeNames.ts'
import type { Compaction, ModelTurn, ToolAnswer } from '../machines/effects.ts'
import { gaugesOf, type LimitGauge } from '../machines/limits/gauges.ts'
import type { Outcome } from '../machines/outcome.ts'
import { cancelledAnswer, failedAnswer } from '../machines/reducers.ts'
import { eventOf } from './eventOf.ts'
import type { EffectReport, EventBody } from './events.ts'
import type { Progress } from './fold.ts'
import { newWarnings } from './newWarnings.ts'
import { type AgentSnapshot, type Effect, stateOf } from './pureMachine.ts'
import { takenEdge } from './takenEdge.ts'

/** One thing that happened to a run, and what it changed. */
export interface Happening {
  readonly event: RunEvent
  /** The effect that it settles, where it settles one. */
  readonly settled: Effect | undefined
  readonly before: AgentSnapshot
  readonly after: AgentSnapshot
  readonly progress: Progress
}

/** Puts what happens in a run into the words of its events, for a run under way as for one that a journal tells of. */
export class Narrator {
  readonly #tell: (body: EventBody) => void
  readonly #now: () => number
  readonly #startedAt = new Map<string, number>()
  /** Text of the present model call that has been shown. */
  #shown = ''
  /** What was told of the limits last, and in which step. */
  #gauges: { readonly limits: readonly LimitGauge[]; readonly when: string } | undefined

  /** @param now Milliseconds since any moment: what the duration of an effect is measured by. */
  constructor(tell: (body: EventBody) => void, now: () => number) {
    this.#tell = tell
    this.#now = now
  }

  /** Text of the present model call that has been shown and did not become part of the conversation. */
  get shown(): string {
    return this.#shown
  }

  /**
   * The run begins, or goes on.
   *
   * @param recorded How many entries its journal had, where it goes on.
   */
  runStarted(snapshot: AgentSnapshot, recorded: number | undefined): void {
    const { context } = snapshot
    const { historyNotes: notes, verdict } = context
    const resumed = recorded !== undefined
    this.#tell({
      type: 'run.started',
      resumed,
      state: stateOf(snapshot),
      ...(resumed ? { recorded } : {}),
    })
    if (notes.length > 0 && !resumed) this.#tell({ type: 'history.repaired', notes })
    const messages = context.transcript.toArray()
    if (messages.length > 0) this.#tell({ type: 'messages.appended', messages })
    this.#tellGauges(snapshot)
    if (verdict !== undefined && !resumed) this.#tell({ type: 'limit.reached', verdict })
  }

  effectStarted({ kind, place, input }: Effect): void {
    this.#startedAt.set(place, this.#now())
    if (kind === 'callModel') {
      this.#shown = ''
      this.#tell({ type: 'model.started', place, closing: input.toolChoice === 'none' })
    } else if (kind === 'runTool') {
      const { id: callId, function: called } = input.call
      this.#tell({ type: 'tool.started', place, callId, name: called.name, arguments: called.arguments })
    } else if (kind === 'compact') {
      this.#tell({ type: 'compaction.started', place })
    }
  }

  /** What an effect reports while it goes on. */
  effectReported(effect: Effect, report: EffectReport): void {
    const body = eventOf(effect, report)
    if (body === undefined) return
    if (body.type === 'model.delta') this.#shown += body.text
    else if (body.type === 'model.reset') this.#shown = ''
    this.#tell(body)
  }

  effectEnded({ kind, place, input }: Effect, event: SettlingEvent): void {
    const now = this.#now()
    const durationMs = now - (this.#startedAt.get(place) ?? now)
    this.#startedAt.delete(place)
    if (kind === 'callModel') {
      const call = { place, closing: input.toolChoice === 'none', durationMs }
      if (event.type === 'failed') this.#tell({ type: 'model.failed', ...call, error: event.error })
      else this.#tell({ type: 'model.finished', ...call, reply: (event.output as ModelTurn).reply })
    } else if (kind === 'runTool') {
      const { id: callId, function: called } = input.call
      const answer = event.type === 'failed' ? failedAnswer(event.error) : (event.output as ToolAnswer)
      this.#tell({ type: 'tool.finished', place, callId, name: called.name, ...answer, durationMs })
    } else if (kind === 'compact') {
      this.#tell({ type: 'compaction.finished', place, ...compactionOf(event), durationMs })
    }
  }

  /** Nobody wants the effect any more. */
  effectGivenUp(effect: Effect): void {
    this.effectEnded(effect, givenUp(effect))
  }

  /** One event and what it changed: how its effect ended, which edges were taken, what was given up over it. */
  happened({ event, settled, before, after, progress }: Happening): void {
    const { context } = after
    if (settled !== undefined && 'place' in event) {
      this.effectEnded(settled, event)
      // Text that was shown and did not enter the transcript (the call failed, the reply was cut off) is void.
      if (context.transcript.length === before.context.transcript.length) this.#takeBack(settled)
    }
    if (event.type === 'sent') this.#tell({ type: 'message.received', message: event.message })
    this.#tellUsage(before.context, context)
    for (const effect of progress.stopped) this.effectGivenUp(effect)
    const { verdict, warnings } = context
    for (const edge of progress.taken) {
      const name = takenEdge(edge, before)
      const evidence = verdict !== undefined && isOfLimit(name) ? { verdict } : {}
      this.#tell({ type: 'transition', ...name, ...evidence })
    }
    const messages = context.transcript.toArray(before.context.transcript.length)
    if (messages.length > 0) this.#tell({ type: 'messages.appended', messages })
    this.#tellGauges(after)
    for (const warning of newWarnings(before.context.warnings, warnings)) {
      this.#tell({ type: 'limit.warned', warning })
    }
    if (verdict !== undefined && verdict !== before.context.verdict) {
      this.#tell({ type: 'limit.reached', verdict })
    }
  }

  runFinished(outcome: Outcome<unknown>): void {
    this.#tell({ type: 'run.finished', outcome })
  }

  #tellUsage(before: AgentContext, { usage, usageByModel, cost, settings }: AgentContext): void {
    if (usage === before.usage) return
    const isPriced = Object.keys(settings.prices).length > 0
    const total = { ...usage, byModel: usageByModel }
    this.#tell({ type: 'usage.updated', usage: total, ...(isPriced ? { cost } : {}) })
  }

  /** At the beginning of each step, and at the end. */
  #tellGauges({ status, context }: AgentSnapshot): void {
    const when = `${context.step} ${context.closings} ${status}`
    if (this.#gauges?.when === when) return
    const limits = gaugesOf(context)
    const isNew =
      this.#gauges === undefined || limits.some(({ used }, i) => used !== this.#gauges?.limits[i]?.used)
    this.#gauges = { limits, when }
    if (isNew && limits.length > 0) this.#tell({ type: 'limits.updated', limits })
  }

  #takeBack({ kind, place, input }: Effect): void {
    if (kind !== 'callModel' || this.#shown === '') return
    this.#shown = ''
    this.#tell({ type: 'model.reset', place, closing: input.toolChoice === 'none' })
  }
}

function compactionOf(event: SettlingEvent): Partial<Omit<Compaction, 'state' | 'ceiling'>> {
  // The effect itself never fails: this one was given up.
  if (event.type === 'failed') return { problem: event.error.message }
  const { state: _state, ceiling: _ceiling, ...told } = event.output as Compaction
  return told
}

/** Whether an edge was taken because of a limit. */
function isOfLimit({ guard, event }: EdgeName): boolean {
  return guard === 'limitConcludes' || guard === 'limitAborts' || event.startsWith('deadline.')
}

/** How an effect ends that the machine no longer wants. */
function givenUp({ kind, place }: Effect): SettlingEvent {
  return kind === 'runTool'
    ? { type: 'settled', place, output: cancelledAnswer }
    : {
        type: 'failed',
        place,
        error: { code: 'cancelled', message: 'The call was given up.', retryable: false },
      }
}
