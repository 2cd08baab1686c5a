import type { AgentEvent } from '../runtime/events.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** How much an event matters; `undefined` for pieces of which there are too many. */
export function levelOf(event: AgentEvent): LogLevel | undefined {
  switch (event.type) {
    case 'model.delta':
    case 'model.reset':
    case 'tool.progress':
      return undefined
    case 'run.finished':
      return levelOfEnd(event.outcome)
    case 'tool.finished':
      return event.error === undefined ? 'info' : 'warn'
    case 'compaction.finished':
      return event.problem === undefined && event.exhausted === undefined ? 'info' : 'warn'
    case 'model.failed':
    case 'tool.retried':
    case 'retry.scheduled':
    case 'history.repaired':
    case 'limit.warned':
    case 'limit.reached':
      return 'warn'
    case 'run.started':
    case 'model.finished':
    case 'message.received':
      return 'info'
    default:
      return 'debug'
  }
}

/** Endings that somebody wanted are no error. */
function levelOfEnd(outcome: Extract<AgentEvent, { type: 'run.finished' }>['outcome']): LogLevel {
  if (outcome.status !== 'aborted') return 'info'
  return outcome.reason === 'cancelled' || outcome.reason === 'interrupted' ? 'warn' : 'error'
}
