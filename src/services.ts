import { type ModelParts, modelCaller } from './callModel.ts'
import { delay } from './delay.ts'
import type { Services } from './runtime/inProcessHost.ts'
import { executeTool } from './tools/executeTool.ts'

/** The first wait before another attempt is at most this long, each further one twice as long. Milliseconds. */
const BACKOFF_BASE_MS = 500
/** No wait is longer than this, whatever a provider asks for. Milliseconds. */
const BACKOFF_CAP_MS = 30_000

/** What the effects of the chart do: a model, tools and a memory behind the four actors. */
export function servicesOf(parts: ModelParts): Services {
  const { tools, memory } = parts
  return {
    callModel: modelCaller(parts),
    runTool({ call, place }, { signal, runId, context, report }) {
      return executeTool(call, tools, {
        signal,
        runId,
        context,
        idempotencyKey: `${runId}/${place}`,
        emit: (progress) => report({ type: 'progress', progress }),
      })
    },
    async compact({ transcript, memory: state }, { signal }) {
      return memory.compact === undefined ? state : memory.compact(transcript.toArray(), state, { signal })
    },
    async sleep({ failures, retryAfterMs }, { signal, report }) {
      const delayMs = Math.min(BACKOFF_CAP_MS, retryAfterMs ?? fullJitter(failures))
      report({ type: 'delay', delayMs })
      await delay(delayMs, signal)
      return undefined
    },
  }
}

/**
 * Exponential back-off with full jitter, which spreads clients that failed together.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
function fullJitter(failures: number): number {
  return Math.random() * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** (failures - 1))
}
