import { type Backoff, waitAfter } from './backoff.ts'
import { type ModelParts, modelCaller } from './callModel.ts'
import { delay, LONGEST_TIMER_MS } from './delay.ts'
import { environment } from './environment.ts'
import type { Services } from './runtime/inProcessHost.ts'
import { executeTool } from './tools/executeTool.ts'
import type { Slots } from './tools/slots.ts'

/** Waits between the attempts of one model call, where the agent asks for none. The cap holds whatever a provider asks for. */
const BACKOFF: Backoff = { baseMs: 500, capMs: 30_000 }

export interface Parts extends ModelParts {
  readonly slots: Slots
}

/** What the effects of the chart do: a model, tools and a memory behind the four actors. */
export function servicesOf(parts: Parts): Services {
  const { memory, slots } = parts
  return {
    callModel: modelCaller(parts),
    runTool({ call, place, step, transcript }, io) {
      const { signal, runId, context, tools, report } = io
      return executeTool(call, tools.at(step, () => transcript.toArray()).byName, {
        signal,
        runId,
        context,
        slots,
        idempotencyKey: `${runId}/${place}`,
        emit: (progress) => report({ type: 'progress', progress }),
        onRetry: (retry) => report({ type: 'retry', ...retry }),
        onSpend: (total) => io.spent?.(total),
      })
    },
    compact: (input, io) => memory.compact(input, io),
    async sleep({ failures, retryAfterMs, delaysMs }, { signal, report }) {
      const delayMs =
        retryAfterMs === undefined
          ? waitAfter(failures, delaysMs, BACKOFF)
          : Math.min(BACKOFF.capMs, retryAfterMs)
      report({ type: 'delay', delayMs })
      await delay(delayMs, signal)
      return undefined
    },
    async waitUntil({ dueMs }, { signal, elapsedMs }) {
      const latest = environment().now() + dueMs - elapsedMs()
      // The clock on the wall may be put back meanwhile.
      const leftMs = (): number => Math.min(dueMs - elapsedMs(), latest - environment().now())
      for (let left = leftMs(); left > 0; left = leftMs()) {
        // A timer knows whole milliseconds only.
        await delay(Math.min(Math.ceil(left), LONGEST_TIMER_MS), signal)
      }
      return undefined
    },
  }
}
