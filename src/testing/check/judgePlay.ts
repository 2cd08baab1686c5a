import { runInputOf } from '../../machines/context.ts'
import { lastOf } from '../../machines/limits/ladder.ts'
import type { Aborted } from '../../machines/outcome.ts'
import { type RunSettings, resolveSettings } from '../../machines/settings.ts'
import type { AgentEvent } from '../../runtime/events.ts'
import { Chart } from './chart.ts'
import type { Play, Stage } from './play.ts'

/** What the promises are judged by: the agent's own settings and chart. */
export interface Terms {
  readonly settings: RunSettings
  readonly chart: Chart
}

export function termsOf<Output>({ agent, input }: Stage<Output>): Terms {
  const { options, machine } = agent.double.agent
  return {
    settings: resolveSettings(runInputOf(input), resolveSettings(options)),
    chart: new Chart(machine),
  }
}

/** Judges a play that has ended. What a play sees while it goes on, it judges itself. */
export function judgePlay<Output>(play: Play<Output>, terms: Terms): void {
  judgeOutcome(play, terms.settings)
  judgeBounds(play, terms.settings)
  judgeEvents(play, terms.chart)
}

function judgeOutcome<Output>(play: Play<Output>, settings: RunSettings): void {
  const { outcome } = play
  if (outcome === undefined) return
  if (outcome.status === 'done' && (outcome.output === '' || outcome.output === undefined)) {
    play.broken('one outcome', 'done has an answer that is not empty', 'it is empty')
  }
  if (play.cancelled && !(outcome.status === 'aborted' && outcome.reason === 'cancelled')) {
    play.broken(
      'one outcome',
      'a run that is cancelled is aborted with the reason "cancelled"',
      statusOf(outcome),
    )
  }
  if (outcome.status === 'aborted' && !isExplained(outcome, play, settings)) {
    play.broken(
      'explained',
      'a run aborts only for what happened on its path',
      `it was aborted with the reason "${outcome.reason}": ${outcome.message}`,
    )
  }
}

/**
 * What the model must have done last for each reason to abort that comes from it. A context is exhausted some time after
 * the model has found it too long, or by the agent's own memory.
 */
const causes: Readonly<Partial<Record<Aborted['reason'], readonly string[]>>> = {
  model_error: ['busy', 'failure', 'hang'],
  content_filter: ['refusal'],
  empty_response: ['empty'],
  truncated_response: ['cut off', 'cut-off call'],
  malformed_response: ['formless'],
  journal_error: [],
  internal_error: [],
}

function isExplained<Output>(
  { reason }: Aborted,
  { decisions, cancelled, environment }: Play<Output>,
  { limits }: RunSettings,
): boolean {
  if (reason === 'cancelled') return cancelled
  if (reason === 'timeout') return environment.now() >= (limits.time.abort ?? Infinity)
  const last = decisions.findLast(({ key }) => key.startsWith('model '))
  return causes[reason]?.includes(last?.name ?? '') ?? true
}

function judgeBounds<Output>(play: Play<Output>, { limits, modelRetries }: RunSettings): void {
  const attempts = modelRetries + 1
  const steps = lastOf(limits.steps)
  const calls = play.requests.length - play.closingCalls
  if (calls > steps * attempts) {
    play.broken('bounded', `at most ${steps} steps of ${attempts} attempts`, `${calls} model calls`)
  }
  // Once, room is made for a closing call that is too long, and it begins anew.
  const closingCalls = 2 * attempts
  if (play.closingCalls > closingCalls) {
    play.broken('bounded', `at most ${closingCalls} attempts at the closing call`, `${play.closingCalls}`)
  }
  if (play.outcome !== undefined && play.outcome.steps > steps) {
    play.broken('bounded', `at most ${steps} steps`, `${play.outcome.steps}`)
  }
  for (const [place, { tool, count }] of play.executions) {
    if (count <= tool.retries + 1) continue
    play.broken(
      'once',
      `${tool.name} at ${place} runs at most ${tool.retries + 1} times`,
      `it ran ${count} times`,
    )
  }
}

function judgeEvents<Output>(play: Play<Output>, chart: Chart): void {
  let state: string | undefined
  const open = new Set<string>()
  for (const event of play.events) {
    if (event.type === 'run.started') {
      state = event.state
      chart.visit(state)
    } else if (event.type === 'transition') {
      const edge = chart.edge(event)
      if (edge === undefined || !isWithin(event.from, state)) {
        play.broken(
          'explained',
          `an edge of the chart that leaves ${state}`,
          `${event.from} → ${event.to ?? event.from} (${event.event})`,
        )
        return
      }
      chart.take(edge)
      state = event.to ?? state
      if (state !== undefined) chart.visit(state)
    } else if (event.type === 'model.started' || event.type === 'tool.started') {
      open.add(event.place)
    } else if (
      event.type === 'model.finished' ||
      event.type === 'model.failed' ||
      event.type === 'tool.finished'
    ) {
      open.delete(event.place)
    }
  }
  const [left] = open
  if (left !== undefined) play.broken('explained', 'what has started is shown to end', `${left} is not`)
  judgeEnd(play, state)
}

function judgeEnd<Output>(play: Play<Output>, state: string | undefined): void {
  const { outcome, events } = play
  if (outcome === undefined) return
  const last = events.at(-1)
  if (last?.type !== 'run.finished') {
    play.broken('one outcome', 'the last event is run.finished', `it is ${last?.type}`)
  }
  if (outcome.status !== 'waiting' && state !== outcome.status) {
    play.broken('explained', `transitions that lead to ${outcome.status}`, `they lead to ${state}`)
  }
  const stoppedBy = 'stoppedBy' in outcome ? outcome.stoppedBy : undefined
  const isTold = (event: AgentEvent): boolean =>
    event.type === 'limit.reached' && event.verdict.limit === stoppedBy?.limit
  if (stoppedBy !== undefined && !events.some(isTold)) {
    play.broken('explained', `an event that the limit "${stoppedBy.limit}" was reached`, 'there is none')
  }
}

/** An edge may belong to a state around the one in which the run is, or be told by the one within. */
function isWithin(from: string, state: string | undefined): boolean {
  return state === undefined || from === state || state.startsWith(`${from}.`) || from.startsWith(`${state}.`)
}

function statusOf(outcome: { readonly status: string; readonly reason?: string }): string {
  return outcome.reason === undefined ? outcome.status : `${outcome.status} (${outcome.reason})`
}
