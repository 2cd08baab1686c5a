import type { AgentEvent } from '../../../runtime/events.ts'
import { edgeKey } from '../../edgeKey.ts'
import type { InspectedEvent } from '../../protocol.ts'
import type { Call, Compaction, ModelCall, ToolCall } from './call.ts'
import { enteredWith } from './entered.ts'
import { elapsedOf, type RunView } from './runView.ts'

/** How many of the edges that were taken last are kept. */
const TRAIL = 12

type Change = Partial<RunView>

/**
 * What is known of a run after one more event. Pure and total: an event of a kind that this page does not know changes
 * nothing but the time.
 */
export function withEvent(view: RunView, inspected: InspectedEvent): RunView {
  const timed = { ...view, ...timeOf(view, inspected.event) }
  return { ...timed, ...changeOf(timed, inspected) }
}

function timeOf({ startedAt, at, idleMs }: RunView, event: AgentEvent): Change {
  if (startedAt === undefined) return { startedAt: event.at, at: event.at }
  // Clocks of several processes may differ: time never goes back.
  const now = Math.max(at, event.at)
  return event.type === 'run.started' ? { at: now, idleMs: idleMs + now - at } : { at: now }
}

function changeOf(view: RunView, { event, index, abridged }: InspectedEvent): Change {
  switch (event.type) {
    case 'run.started':
      return {
        phase: 'running',
        state: event.state,
        transcript: [],
        unread: [],
        outcome: undefined,
        calls: view.calls.map((call) => (call.status === 'running' ? endedCall(view, index, call) : call)),
      }
    case 'transition':
      return transitionChange(view, event, index)
    case 'messages.appended':
      return {
        transcript: [...view.transcript, ...event.messages],
        unread: view.unread.slice(event.messages.filter(({ role }) => role === 'user').length),
      }
    case 'model.started':
      return begun(view, {
        kind: 'model',
        ...beginning(view, event.place, index),
        closing: event.closing,
        transcriptLength: view.transcript.length,
        text: '',
        isVoid: false,
      })
    case 'model.requested': {
      const { request, tokens } = event
      return changedCall<ModelCall>(view, event.place, 'model', () => ({
        request,
        transcriptLength: view.transcript.length,
        ...(abridged === true ? { abridgedAt: index } : {}),
        ...(tokens === undefined ? {} : { requestTokens: tokens }),
      }))
    }
    case 'model.delta':
      return changedCall<ModelCall>(view, event.place, 'model', ({ text, isVoid }) => ({
        text: isVoid ? event.text : text + event.text,
        isVoid: false,
      }))
    case 'model.reset':
      return changedCall<ModelCall>(view, event.place, 'model', () => ({ isVoid: true }))
    case 'model.finished':
      return changedCall<ModelCall>(view, event.place, 'model', () => ({
        ...ending(view, index, 'done'),
        reply: event.reply,
        durationMs: event.durationMs,
      }))
    case 'model.failed':
      return changedCall<ModelCall>(view, event.place, 'model', () => ({
        ...ending(view, index, 'failed'),
        error: event.error,
        durationMs: event.durationMs,
      }))
    case 'retry.scheduled': {
      const { place, delayMs, failures } = event
      return begun(view, { kind: 'pause', ...beginning(view, place, index), delayMs, failures })
    }
    case 'tool.started': {
      const { place, callId, name, arguments: args } = event
      const facts = { callId, name, arguments: args, progressCount: 0, retries: [] }
      return begun(view, { kind: 'tool', ...beginning(view, place, index), ...facts })
    }
    case 'tool.progress':
      return changedCall<ToolCall>(view, event.place, 'tool', ({ progressCount }) => ({
        progress: event.progress,
        progressCount: progressCount + 1,
      }))
    case 'tool.retried': {
      const { failures, delayMs, message } = event
      return changedCall<ToolCall>(view, event.place, 'tool', ({ retries }) => ({
        retries: [...retries, { failures, delayMs, message }],
      }))
    }
    case 'tool.finished': {
      const { content, error, durationMs } = event
      return changedCall<ToolCall>(view, event.place, 'tool', () => ({
        ...ending(view, index, error === undefined ? 'done' : 'failed'),
        content,
        durationMs,
        ...(error === undefined ? {} : { error }),
      }))
    }
    case 'compaction.started':
      return begun(view, { kind: 'compaction', ...beginning(view, event.place, index) })
    case 'compaction.finished': {
      const { tokensBefore, tokensAfter, problem, exhausted, durationMs } = event
      return changedCall<Compaction>(view, event.place, 'compaction', () => ({
        ...ending(view, index, exhausted === undefined ? 'done' : 'failed'),
        durationMs,
        ...(tokensBefore === undefined ? {} : { tokensBefore }),
        ...(tokensAfter === undefined ? {} : { tokensAfter }),
        ...(problem === undefined ? {} : { problem }),
        ...(exhausted === undefined ? {} : { exhausted }),
      }))
    }
    case 'history.repaired':
      return { repairs: event.notes }
    case 'message.received':
      return { unread: [...view.unread, event.message] }
    case 'usage.updated':
      return { usage: event.usage, cost: event.cost }
    case 'limits.updated':
      return { gauges: event.limits }
    case 'limit.warned':
      return { warnings: [...view.warnings, event.warning] }
    case 'limit.reached':
      return { verdict: event.verdict }
    case 'run.finished':
      return { phase: event.outcome.status, outcome: event.outcome, usage: event.outcome.usage }
    default:
      return {}
  }
}

function transitionChange(
  view: RunView,
  event: Extract<AgentEvent, { type: 'transition' }>,
  index: number,
): Change {
  const { from, to, event: cause, guard, verdict } = event
  const edge = {
    from,
    event: cause,
    ...(to === undefined ? {} : { to }),
    ...(guard === undefined ? {} : { guard }),
    ...(verdict === undefined ? {} : { verdict }),
    index,
  }
  const key = edgeKey(edge)
  return {
    trail: [...view.trail.slice(1 - TRAIL), edge],
    edgeCounts: new Map(view.edgeCounts).set(key, (view.edgeCounts.get(key) ?? 0) + 1),
    ...(to === undefined ? {} : { state: enteredWith(to) }),
    // Whatever leaves a back-off ends it.
    calls: view.calls.map((call) =>
      call.kind === 'pause' && call.status === 'running' ? endedCall(view, index, call) : call,
    ),
  }
}

function beginning(view: RunView, place: string, index: number) {
  return { place, index, from: elapsedOf(view), status: 'running' } as const
}

function ending(view: RunView, index: number, status: 'done' | 'failed') {
  return { to: elapsedOf(view), endIndex: index, status } as const
}

/** A call of which nobody will hear any more, because its process has gone. */
function endedCall<SomeCall extends Call>(view: RunView, index: number, call: SomeCall): SomeCall {
  return { ...call, ...ending(view, index, call.kind === 'pause' ? 'done' : 'failed') }
}

function begun({ calls }: RunView, call: Call): Change {
  return { calls: [...calls, call] }
}

/** Changes the newest call of a place. One that is not known, because its beginning was dropped, stays unknown. */
function changedCall<SomeCall extends Call>(
  { calls }: RunView,
  place: string,
  kind: SomeCall['kind'],
  change: (call: SomeCall) => Partial<SomeCall>,
): Change {
  const position = calls.findLastIndex((call) => call.place === place && call.kind === kind)
  const call = calls[position] as SomeCall | undefined
  return call === undefined ? {} : { calls: calls.with(position, { ...call, ...change(call) }) }
}
