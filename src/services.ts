import { delay } from './delay.ts'
import type { Memory } from './memory/memory.ts'
import type { Message } from './messages/types.ts'
import type { Model } from './models/model.ts'
import type { Services } from './runtime/inProcessHost.ts'
import { callNeedsApproval, executeTool } from './tools/executeTool.ts'
import { specsOf } from './tools/registry.ts'
import type { Tool } from './tools/tool.ts'

/** The first wait before another attempt is at most this long, each further one twice as long. Milliseconds. */
const BACKOFF_BASE_MS = 500
/** No wait is longer than this, whatever a provider asks for. Milliseconds. */
const BACKOFF_CAP_MS = 30_000

export interface Parts {
  readonly model: Model
  readonly tools: ReadonlyMap<string, Tool>
  readonly instructions: string | undefined
  readonly memory: Memory
}

/** What the effects of the chart do: a model, tools and a memory behind the four actors. */
export function servicesOf({ model, tools, instructions, memory }: Parts): Services {
  const specs = specsOf(tools)
  const needApproval = [...tools.values()].some((tool) => tool.needsApproval !== false)
  return {
    async callModel(input, { signal, watched, report }) {
      const system = instructions || input.instructions
      const messages: Message[] = system === undefined ? [] : [{ role: 'system', content: system }]
      for (const message of memory.view(input.transcript.toArray(), input.memory)) messages.push(message)
      if (input.note !== undefined) messages.push({ role: 'user', content: input.note })
      const { toolChoice } = input
      const reply = await model.generate(
        // Some servers ignore `tool_choice`, so a call without tools is one that names none.
        { messages, tools: toolChoice === 'none' ? [] : specs, toolChoice },
        watched ? { signal, onDelta: ({ text }) => report({ type: 'delta', text }) } : { signal },
      )
      const positions = needApproval ? [...reply.toolCalls.keys()] : []
      return {
        reply,
        needsApproval: positions.filter((i) => {
          const call = reply.toolCalls[i]
          return call !== undefined && callNeedsApproval(call, tools)
        }),
      }
    },
    runTool({ call, place }, { signal, runId, report }) {
      return executeTool(call, tools, {
        signal,
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
