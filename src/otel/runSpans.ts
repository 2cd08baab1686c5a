import {
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { AgentEvent } from '../runtime/events.ts'
import { ATTRIBUTES, usageAttributes } from './attributes.ts'
import { answerContent, replyContent, requestContent } from './content.ts'
import type { Instruments } from './instruments.ts'

export interface RunSpansOptions {
  readonly tracer: Tracer
  readonly instruments: Instruments
  readonly provider: string
  readonly captureContent: boolean
  /** In which the run happens. */
  readonly parent: Context
  /** Of the agent. */
  readonly name?: string
  /** The id of the agent's model. */
  readonly model?: string
  /** The span in which the run was until now, where it goes on. */
  readonly before?: SpanContext | undefined
}

type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { type: Type }>

/** A tool call under way. */
interface ToolCallSpan {
  readonly span: Span
  readonly name: string
  readonly callId: string
}

/** The spans of one run, from its start (or from where it is taken up) to its end. */
export class RunSpans {
  readonly #options: RunSpansOptions
  readonly #span: Span
  readonly #context: Context
  /** By place. */
  readonly #modelCalls = new Map<string, Span>()
  readonly #toolCalls = new Map<string, ToolCallSpan>()

  constructor(event: EventOf<'run.started'>, options: RunSpansOptions) {
    this.#options = options
    const { tracer, name, model, parent, before } = options
    this.#span = tracer.startSpan(
      spanName('invoke_agent', name),
      {
        kind: SpanKind.INTERNAL,
        startTime: new Date(event.at),
        attributes: {
          ...this.#facts('invoke_agent'),
          ...optional(ATTRIBUTES.requestModel, model),
          [ATTRIBUTES.runId]: event.runId,
          [ATTRIBUTES.resumed]: event.resumed,
        },
        links: event.resumed && before !== undefined ? [{ context: before }] : [],
      },
      parent,
    )
    this.#context = trace.setSpan(parent, this.#span)
  }

  get spanContext(): SpanContext {
    return this.#span.spanContext()
  }

  /** A tool call that is under way: its tool, and the context for what happens in it. */
  toolCall(callId: string): { readonly tool: string; readonly context: Context } | undefined {
    const call = [...this.#toolCalls.values()].find((each) => each.callId === callId)
    return call && { tool: call.name, context: trace.setSpan(this.#context, call.span) }
  }

  see(event: AgentEvent): void {
    switch (event.type) {
      case 'model.started':
        this.#startModelCall(event)
        break
      case 'model.requested':
        this.#tellRequest(event)
        break
      case 'model.finished':
        this.#finishModelCall(event)
        break
      case 'model.failed':
        this.#failModelCall(event)
        break
      case 'tool.started':
        this.#startToolCall(event)
        break
      case 'tool.retried':
        this.#noteRetry(event)
        break
      case 'tool.finished':
        this.#finishToolCall(event)
        break
      case 'retry.scheduled':
        this.#note(event, { [ATTRIBUTES.place]: event.place, [ATTRIBUTES.attempts]: event.failures })
        break
      case 'limit.warned':
        this.#note(event, { [ATTRIBUTES.limit]: event.warning.limit })
        break
      case 'limit.reached':
        this.#note(event, { [ATTRIBUTES.limit]: event.verdict.limit })
        break
      case 'compaction.started':
      case 'compaction.finished':
        this.#note(event, { [ATTRIBUTES.place]: event.place })
        break
      case 'run.finished':
        this.#finish(event)
        break
    }
  }

  #startModelCall({ place, closing, at }: EventOf<'model.started'>): void {
    const { model } = this.#options
    const attributes = {
      ...this.#facts('chat'),
      ...optional(ATTRIBUTES.requestModel, model),
      [ATTRIBUTES.place]: place,
      [ATTRIBUTES.closing]: closing,
    }
    const span = this.#start(spanName('chat', model), SpanKind.CLIENT, at, attributes)
    this.#modelCalls.set(place, span)
  }

  #tellRequest({ place, request }: EventOf<'model.requested'>): void {
    if (this.#options.captureContent) this.#modelCalls.get(place)?.setAttributes(requestContent(request))
  }

  #finishModelCall({ place, at, reply, durationMs }: EventOf<'model.finished'>): void {
    const span = this.#take(this.#modelCalls, place)
    const { model, captureContent, instruments } = this.#options
    const measured = {
      ...this.#facts('chat'),
      ...optional(ATTRIBUTES.requestModel, model),
      ...optional(ATTRIBUTES.responseModel, reply.model),
    }
    instruments.duration(durationMs, measured)
    instruments.tokens(reply.usage, measured)
    if (span === undefined) return
    if (model === undefined && reply.model !== undefined) span.updateName(spanName('chat', reply.model))
    span.setAttributes({
      ...measured,
      ...usageAttributes(reply.usage),
      [ATTRIBUTES.finishReasons]: [reply.finish],
      ...(captureContent ? replyContent(reply) : {}),
    })
    span.end(new Date(at))
  }

  #failModelCall({ place, at, error, durationMs }: EventOf<'model.failed'>): void {
    const { model, instruments } = this.#options
    const failure = { [ATTRIBUTES.errorType]: error.code }
    const measured = { ...this.#facts('chat'), ...optional(ATTRIBUTES.requestModel, model), ...failure }
    instruments.duration(durationMs, measured)
    const span = this.#take(this.#modelCalls, place)
    if (span !== undefined) endFailed(span, at, error.code, error.message)
  }

  #startToolCall(event: EventOf<'tool.started'>): void {
    const { place, callId, name, at } = event
    const attributes = {
      ...this.#facts('execute_tool'),
      [ATTRIBUTES.toolName]: name,
      [ATTRIBUTES.toolType]: 'function',
      [ATTRIBUTES.callId]: callId,
      [ATTRIBUTES.place]: place,
      ...(this.#options.captureContent ? { [ATTRIBUTES.callArguments]: event.arguments } : {}),
    }
    const span = this.#start(spanName('execute_tool', name), SpanKind.INTERNAL, at, attributes)
    this.#toolCalls.set(place, { span, name, callId })
  }

  #noteRetry({ place, failures, at }: EventOf<'tool.retried'>): void {
    const attributes = { [ATTRIBUTES.attempts]: failures }
    this.#toolCalls.get(place)?.span.addEvent('loopchart.tool.retried', attributes, new Date(at))
  }

  #finishToolCall({ place, name, at, content, error, durationMs }: EventOf<'tool.finished'>): void {
    const { captureContent, instruments } = this.#options
    instruments.duration(durationMs, {
      ...this.#facts('execute_tool'),
      [ATTRIBUTES.toolName]: name,
      ...optional(ATTRIBUTES.errorType, error),
    })
    const call = this.#take(this.#toolCalls, place)
    if (call === undefined) return
    if (captureContent) call.span.setAttribute(ATTRIBUTES.callResult, content)
    if (error === undefined) call.span.end(new Date(at))
    else endFailed(call.span, at, error, captureContent ? content : undefined)
  }

  #finish({ at, outcome }: EventOf<'run.finished'>): void {
    for (const span of this.#modelCalls.values()) span.end(new Date(at))
    for (const { span } of this.#toolCalls.values()) span.end(new Date(at))
    const stoppedBy = outcome.status === 'waiting' ? undefined : outcome.stoppedBy?.limit
    const reason = outcome.status === 'aborted' ? outcome.reason : undefined
    this.#options.instruments.duration(outcome.durationMs, {
      ...this.#facts('invoke_agent'),
      ...optional(ATTRIBUTES.errorType, reason),
    })
    this.#span.setAttributes({
      ...usageAttributes(outcome.usage),
      [ATTRIBUTES.status]: outcome.status,
      [ATTRIBUTES.steps]: outcome.steps,
      ...optional(ATTRIBUTES.reason, reason),
      ...optional(ATTRIBUTES.limit, stoppedBy),
      ...optional(ATTRIBUTES.cost, outcome.cost),
      ...(this.#options.captureContent && outcome.status === 'done' ? answerContent(outcome.output) : {}),
    })
    if (outcome.status === 'aborted') endFailed(this.#span, at, outcome.reason, outcome.message)
    else this.#span.end(new Date(at))
  }

  #start(name: string, kind: SpanKind, at: number, attributes: Attributes): Span {
    return this.#options.tracer.startSpan(name, { kind, startTime: new Date(at), attributes }, this.#context)
  }

  #note({ type, at }: AgentEvent, attributes: Attributes): void {
    this.#span.addEvent(`loopchart.${type}`, attributes, new Date(at))
  }

  #take<Thing>(things: Map<string, Thing>, place: string): Thing | undefined {
    const thing = things.get(place)
    things.delete(place)
    return thing
  }

  #facts(operation: string): Attributes {
    const { provider, name } = this.#options
    return {
      [ATTRIBUTES.operation]: operation,
      [ATTRIBUTES.provider]: provider,
      ...optional(ATTRIBUTES.agentName, name),
    }
  }
}

/** Endings that somebody wanted: they are told apart by their type, but are no failure. */
const wanted: ReadonlySet<string> = new Set(['cancelled', 'interrupted'])

function endFailed(span: Span, at: number, type: string, message: string | undefined): void {
  span.setAttribute(ATTRIBUTES.errorType, type)
  if (!wanted.has(type)) {
    span.setStatus({ code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) })
  }
  span.end(new Date(at))
}

function spanName(operation: string, name: string | undefined): string {
  return name === undefined ? operation : `${operation} ${name}`
}

function optional(name: string, value: string | number | undefined): Attributes {
  return value === undefined ? {} : { [name]: value }
}
