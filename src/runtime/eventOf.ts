import type { EffectReport, EventBody } from './events.ts'
import type { Effect } from './pureMachine.ts'

/** What a watcher sees of a report. */
export function eventOf({ kind, place, input }: Effect, report: EffectReport): EventBody | undefined {
  switch (report.type) {
    case 'delta':
      return kind === 'callModel'
        ? { type: 'model.delta', place, closing: input.toolChoice === 'none', text: report.text }
        : undefined
    case 'request':
      return kind === 'callModel'
        ? {
            type: 'model.requested',
            place,
            closing: input.toolChoice === 'none',
            request: report.request,
            ...(report.tokens === undefined ? {} : { tokens: report.tokens }),
          }
        : undefined
    case 'reset':
      return kind === 'callModel'
        ? { type: 'model.reset', place, closing: input.toolChoice === 'none' }
        : undefined
    case 'progress':
      return kind === 'runTool'
        ? {
            type: 'tool.progress',
            place,
            callId: input.call.id,
            name: input.call.function.name,
            progress: report.progress,
          }
        : undefined
    case 'retry':
      return kind === 'runTool'
        ? {
            type: 'tool.retried',
            place,
            callId: input.call.id,
            name: input.call.function.name,
            failures: report.failures,
            delayMs: report.delayMs,
            message: report.message,
          }
        : undefined
    case 'delay':
      return kind === 'sleep'
        ? { type: 'retry.scheduled', place, delayMs: report.delayMs, failures: input.failures }
        : undefined
  }
}
