import type { AgentEvent } from '../runtime/events.ts'
import { contentOf, factsOf } from './facts.ts'
import { type LogLevel, levelOf } from './levels.ts'

/** A logger that takes an object and a message, as pino does: `logger.info({ runId }, 'run started')`. */
export type EventLogger = Readonly<Record<LogLevel, (facts: object, message: string) => void>>

export interface LogOptions {
  /**
   * Whether what was said is logged too: messages, replies, arguments and results of tools. Default: false, because it may
   * be personal or secret, and long.
   */
  readonly captureContent?: boolean
  /**
   * The level of an event, `undefined` for one that is not logged. Default: `error` for a run that was aborted, `warn` for
   * what failed or was limited, `info` for beginnings and ends, `debug` for the rest; pieces of text and of progress are
   * not logged.
   */
  readonly level?: (event: AgentEvent) => LogLevel | undefined
}

/**
 * Writes one line of a structured log for each event: `event` and `runId`, the facts of the event, and a message for
 * people such as `tool get_weather finished`.
 *
 * @param logger Such as `pino()`.
 * @returns A listener for `onEvent` or `agent.watch`.
 * @example
 * await agent.run('Hello?', { onEvent: logEvents(pino()) })
 */
export function logEvents(logger: EventLogger, options: LogOptions = {}): (event: AgentEvent) => void {
  const { captureContent = false, level = levelOf } = options
  return (event) => {
    const chosen = level(event)
    if (chosen === undefined) return
    const facts = { event: event.type, runId: event.runId, ...factsOf(event) }
    logger[chosen](captureContent ? { ...facts, ...contentOf(event) } : facts, messageFor(event))
  }
}

/** `model.finished` → `model finished`, with what it is about. */
function messageFor(event: AgentEvent): string {
  const [subject = '', happened = ''] = event.type.split('.')
  switch (event.type) {
    case 'transition':
      return `${event.from} → ${event.to ?? event.from}`
    case 'tool.started':
    case 'tool.progress':
    case 'tool.retried':
    case 'tool.finished':
      return `tool ${event.name} ${event.type === 'tool.finished' && event.error !== undefined ? 'failed' : happened}`
    case 'limit.warned':
      return `limit ${event.warning.limit} warned`
    case 'limit.reached':
      return `limit ${event.verdict.limit} reached`
    case 'run.started':
      return event.resumed ? 'run resumed' : 'run started'
    case 'run.finished':
      return `run ${event.outcome.status}`
    default:
      return `${subject} ${happened}`
  }
}
