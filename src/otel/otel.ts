import { context, type Meter, metrics, type SpanContext, type Tracer, trace } from '@opentelemetry/api'
import type { AgentEvent } from '../runtime/events.ts'
import { VERSION } from '../version.ts'
import { Instruments } from './instruments.ts'
import { RunSpans } from './runSpans.ts'

export interface OtelOptions {
  /** Default: that of the global tracer provider, named `loopchart`. */
  readonly tracer?: Tracer
  /** Default: that of the global meter provider, named `loopchart`. */
  readonly meter?: Meter
  /** What the agent was made with, for its name and its model's: `agent.options`. Default: nothing is known of it. */
  readonly agent?: AgentFacts
  /** `gen_ai.provider.name`, such as `openai` or `anthropic`. Default: `_OTHER`. */
  readonly provider?: string
  /**
   * Whether spans carry what was said: messages, replies, arguments and results of tools. Default: false, because it may
   * be personal or secret, and long.
   */
  readonly captureContent?: boolean
}

export interface AgentFacts {
  readonly name?: string
  readonly model?: { readonly id: string }
}

/** What a nested or resumed run needs to know of others. */
const REMEMBERED_RUNS = 1000

/**
 * Shows runs as OpenTelemetry spans and metrics, by the semantic conventions for generative AI: `invoke_agent {name}` for
 * a run, in the context that is active where it begins; in it `chat {model}` for each attempt at a model call and
 * `execute_tool {name}` for each tool call, in which the run of a sub-agent nests; the histograms
 * `gen_ai.client.operation.duration` and `gen_ai.client.token.usage`. What the conventions have no name for begins with
 * `loopchart.`.
 *
 * @returns A listener for `onEvent` or `agent.watch`. It never throws for what it is shown.
 * @example
 * const outcome = await agent.run('Hello?', { onEvent: otel({ agent: agent.options, provider: 'openai' }) })
 */
export function otel(options: OtelOptions = {}): (event: AgentEvent) => void {
  const telemetry = new Telemetry(options)
  return (event) => telemetry.see(event)
}

class Telemetry {
  readonly #options: OtelOptions
  readonly #tracer: Tracer
  readonly #instruments: Instruments
  readonly #runs = new Map<string, { readonly spans: RunSpans; readonly isNested: boolean }>()
  /** Spans of runs that have ended or wait here, for those that go on with them. */
  readonly #ended = new Map<string, SpanContext>()

  constructor(options: OtelOptions) {
    this.#options = options
    this.#tracer = options.tracer ?? trace.getTracer('loopchart', VERSION)
    this.#instruments = new Instruments(options.meter ?? metrics.getMeter('loopchart', VERSION))
  }

  /** @param isNested Whether it is told as the progress of the tool call that a sub-agent answers. */
  see(event: AgentEvent, isNested = false): void {
    if (event.type === 'run.started') this.#begin(event, isNested)
    const run = this.#runs.get(event.runId)
    // A sub-agent that is watched itself is told of twice.
    if (run === undefined || run.isNested !== isNested) return
    run.spans.see(event)
    const nested = event.type === 'tool.progress' ? eventWithin(event.progress) : undefined
    if (nested !== undefined) this.see(nested, true)
    if (event.type === 'run.finished') this.#forget(event.runId, run.spans)
  }

  #begin(event: Extract<AgentEvent, { type: 'run.started' }>, isNested: boolean): void {
    const { runId } = event
    if (this.#runs.has(runId)) return
    const caller = this.#callerOf(runId)
    const { agent, provider = '_OTHER', captureContent = false } = this.#options
    const name = caller === undefined ? agent?.name : caller.tool
    const model = caller === undefined ? agent?.model?.id : undefined
    const spans = new RunSpans(event, {
      tracer: this.#tracer,
      instruments: this.#instruments,
      provider,
      captureContent,
      parent: caller?.context ?? context.active(),
      ...(name === undefined ? {} : { name }),
      ...(model === undefined ? {} : { model }),
      ...(this.#ended.has(runId) ? { before: this.#ended.get(runId) } : {}),
    })
    this.#runs.set(runId, { spans, isNested })
  }

  /** The tool call for which a sub-agent runs: the id of its run is made of that of the run and of the call. */
  #callerOf(runId: string): ReturnType<RunSpans['toolCall']> {
    const end = runId.lastIndexOf('/')
    return end === -1 ? undefined : this.#runs.get(runId.slice(0, end))?.spans.toolCall(runId.slice(end + 1))
  }

  #forget(runId: string, spans: RunSpans): void {
    this.#runs.delete(runId)
    this.#ended.delete(runId)
    this.#ended.set(runId, spans.spanContext)
    const [oldest] = this.#ended.keys()
    if (this.#ended.size > REMEMBERED_RUNS && oldest !== undefined) this.#ended.delete(oldest)
  }
}

/** The event of a sub-agent's run that the progress of a call is made of. */
function eventWithin(progress: unknown): AgentEvent | undefined {
  const { type, event } = (progress ?? {}) as { type?: unknown; event?: unknown }
  const isEvent = type === 'agent' && typeof (event as AgentEvent | undefined)?.runId === 'string'
  return isEvent ? (event as AgentEvent) : undefined
}
