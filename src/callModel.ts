import type { AgentMemory } from './agentMemory.ts'
import type { CallModelInput, CountedTokens, ModelTurn } from './machines/effects.ts'
import { findViolations } from './messages/invariants.ts'
import type { ModelReply } from './messages/reply.ts'
import { soundReply } from './messages/soundReply.ts'
import type { Message, ToolCall } from './messages/types.ts'
import { usageOf } from './messages/usage.ts'
import type { Model, ModelIO, ModelRequest } from './models/model.ts'
import { ModelError } from './models/modelError.ts'
import { checkForm, type OutputFormat } from './outputFormat.ts'
import type { EffectIO } from './runtime/inProcessHost.ts'
import { within } from './thenables.ts'
import { callNeedsApproval } from './tools/executeTool.ts'
import type { Tool } from './tools/tool.ts'
import type { ToolSet } from './tools/toolbox.ts'

export interface ModelParts {
  readonly model: Model
  readonly memory: AgentMemory
  readonly output: OutputFormat<unknown> | undefined
  /** Milliseconds after which a call is given up, whatever its service does. */
  readonly modelTimeoutMs: number
}

/** The effect `callModel`: what the memory shows goes out, and what comes back is judged as far as tools and form go. */
export function modelCaller(parts: ModelParts): (input: CallModelInput, io: EffectIO) => Promise<ModelTurn> {
  const { model, output, modelTimeoutMs: timeout } = parts
  return async (input, io) => {
    const set = io.tools.at(input.step, () => input.transcript.toArray())
    const { request, counted } = requestOf(input, set, parts)
    if (isDevelopment()) warnOfViolations(request.messages)
    if (io.watched) io.report({ type: 'request', ...shownRequest(input, { request, counted }) })
    const answered = soundReply(await ask(model, request, ioFor(input, io), { timeout, stop: io.stop }))
    if (answered === undefined) throw notAReply(model)
    const formed = output === undefined ? answered : checkForm(answered, output)
    const reply: ModelReply = { ...formed, usage: usageOf(formed, request) }
    return {
      reply,
      model: model.id,
      ...(counted === undefined ? {} : { counted }),
      ...(await traitsOf(reply, set)),
    }
  }
}

/** What the chart has to know about the tools that a reply asks for. */
async function traitsOf(
  { toolCalls }: ModelReply,
  { byName, chosen }: ToolSet,
): Promise<Omit<ModelTurn, 'reply' | 'model'>> {
  const toolOf = (call: ToolCall): Tool | undefined => byName.get(call.function.name)
  const sequential = positionsOf(toolCalls.map((call) => toolOf(call)?.sequential === true))
  const repeatable = positionsOf(toolCalls.map((call) => toolOf(call)?.repeatable === true))
  const unknown = positionsOf(toolCalls.map((call) => toolOf(call) === undefined))
  const approvable = toolCalls.some((call) => (toolOf(call)?.needsApproval ?? false) !== false)
  return {
    needsApproval: approvable
      ? positionsOf(await Promise.all(toolCalls.map((call) => callNeedsApproval(call, byName))))
      : [],
    ...(sequential.length === 0 ? {} : { sequential }),
    ...(repeatable.length === 0 ? {} : { repeatable }),
    ...(unknown.length === 0 ? {} : { unknown }),
    ...(chosen ? { offered: [...byName.keys()] } : {}),
  }
}

function positionsOf(flags: readonly boolean[]): readonly number[] {
  return [...flags.keys()].filter((i) => flags[i])
}

/** Asks the model, and gives it up after a while: a service may be deaf to its signal and know no timeout. */
async function ask(
  model: Model,
  request: ModelRequest,
  io: ModelIO,
  { timeout, stop }: { readonly timeout: number; readonly stop: EffectIO['stop'] },
): Promise<unknown> {
  const late = (): ModelError => {
    const error = new ModelError('timeout', `${model.id} did not answer within ${timeout} ms.`, {
      retryable: true,
    })
    stop?.(error)
    return error
  }
  return within(timeout, model.generate(request, io), late, io.signal)
}

function notAReply({ id }: Model): ModelError {
  return new ModelError(
    'malformed_reply',
    `The service of model "${id}" gave back something that is no ModelReply. It must return an object with text, ` +
      'toolCalls, finish, usage and message.',
    { retryable: false },
  )
}

/** What a model call sends. */
export interface PreparedRequest {
  readonly request: ModelRequest
  /** Its tokens, where the memory counted them. */
  readonly counted: CountedTokens | undefined
}

/** What a model call sends: what the memory shows, and the tools of the step. */
export function requestOf(
  input: CallModelInput,
  { specs: offered }: Pick<ToolSet, 'specs'>,
  { memory, output }: Pick<ModelParts, 'memory' | 'output'>,
): PreparedRequest {
  const { toolChoice } = input
  // Some servers ignore `tool_choice`, so a call without tools is one that names none.
  const tools = toolChoice === 'none' ? [] : offered
  const { messages, counted } = memory.show(input, tools)
  const format = output === undefined ? {} : { responseFormat: output.responseFormat }
  return { request: { messages, tools, toolChoice, ...format }, counted }
}

/** The same for a watcher: a copy, because what a watcher changes of it is not to be sent. */
export function shownRequest(
  { memory }: CallModelInput,
  { request, counted }: PreparedRequest,
): { readonly request: ModelRequest; readonly tokens?: number } {
  const copy = { ...request, messages: [...request.messages] }
  return counted === undefined
    ? { request: copy }
    : { request: copy, tokens: Math.ceil(counted.total * memory.calibration) }
}

function ioFor({ retriesLeft }: CallModelInput, { signal, watched, report }: EffectIO): ModelIO {
  if (!watched) return { signal, retriesLeft }
  return {
    signal,
    retriesLeft,
    onDelta: ({ text }) => report({ type: 'delta', text }),
    onReset: () => report({ type: 'reset' }),
  }
}

function isDevelopment(): boolean {
  return process.env.NODE_ENV === 'development' || process.env.NODE_ENV === 'test'
}

/** A memory of the user's own may break what providers demand; that is better heard of here than from them. */
function warnOfViolations(messages: readonly Message[]): void {
  for (const { index, rule, message } of findViolations(messages)) {
    process.emitWarning(
      `A request breaks the rule "${rule}" at message ${index}: ${message}. Check your memory.`,
      {
        code: 'LOOPCHART_REQUEST',
      },
    )
  }
}
