import type { AgentOptions, ForkOptions } from './agent.ts'
import { MisuseError, messageOf } from './errors.ts'
import { type AgentInput, messagesOf, type RunInput, runInputOf } from './machines/context.ts'
import type { ToolAnswer } from './machines/effects.ts'
import { isOff } from './machines/limits/ladder.ts'
import { priceOf } from './machines/prices.ts'
import type { Decision } from './machines/reducers.ts'
import type { RunSettings } from './machines/settings.ts'
import type { AssistantMessage, UserMessage } from './messages/types.ts'
import type { Model } from './models/model.ts'

/** The earliest place at which a programmer's mistake can be told: what `createAgent`, `run` and `resume` are given. */

const agentOptions: Readonly<Record<keyof AgentOptions, true>> = {
  model: true,
  tools: true,
  toolConcurrency: true,
  runApprovedFirst: true,
  redact: true,
  instructions: true,
  output: true,
  memory: true,
  tokenCounter: true,
  limits: true,
  customLimits: true,
  prices: true,
  texts: true,
  resultFormat: true,
  modelRetries: true,
  modelRetryDelaysMs: true,
  missingCalls: true,
  modelTimeoutMs: true,
  journal: true,
  name: true,
  leaseMs: true,
  sessions: true,
}

const journalMethods = ['append', 'load', 'list', 'prune', 'lease', 'release'] as const

/** @throws MisuseError `invalid_option` for an option that is unknown or not what it should be. */
export function checkedOptions<Output>(options: AgentOptions<Output>): AgentOptions<Output> {
  if (typeof options?.model?.generate !== 'function') {
    throw new MisuseError(
      'invalid_model',
      "createAgent needs a model, for instance model: openaiChat('gpt-4.1').",
    )
  }
  const known = Object.keys(agentOptions)
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new MisuseError(
        'invalid_option',
        `createAgent knows no option "${name}". It knows ${known.join(', ')}.`,
      )
    }
  }
  const { tools, memory, journal } = options
  if (tools !== undefined && !Array.isArray(tools) && typeof tools !== 'function') {
    throw new MisuseError(
      'invalid_option',
      'tools must be an array of what defineTool returns, or a function that returns one.',
    )
  }
  if (memory !== undefined && typeof memory.view !== 'function') {
    throw new MisuseError('invalid_option', 'memory must have a view function, as turns(6) has.')
  }
  const missing = journalMethods.filter((name) => typeof journal?.[name] !== 'function')
  if (journal !== undefined && missing.length > 0) {
    throw new MisuseError(
      'invalid_option',
      `journal must have the functions ${journalMethods.join(', ')}, as memoryJournal() has; it lacks ${missing.join(', ')}.`,
    )
  }
  const { tokenCounter, sessions } = options
  if (tokenCounter !== undefined && typeof tokenCounter.count !== 'function') {
    throw new MisuseError('invalid_option', 'tokenCounter must have the function count(text).')
  }
  if (
    sessions !== undefined &&
    !(typeof sessions.load === 'function' && typeof sessions.save === 'function')
  ) {
    throw new MisuseError(
      'invalid_option',
      'sessions must have the functions load and save, as memorySessions() has.',
    )
  }
  return options
}

/** @throws MisuseError `missing_price` where a cost is limited and a model that may answer has no price. */
export function requirePrices({ limits, prices }: RunSettings, { id, ids = [id] }: Model): void {
  if (isOff(limits.cost)) return
  const missing = ids.filter((name) => priceOf(prices, [name]) === undefined)
  if (missing.length === 0) return
  throw new MisuseError(
    'missing_price',
    `limits.cost needs the price of every model. There is none for ${missing.join(', ')}: add it to prices, per ` +
      `million tokens, such as { '${missing[0]}': { input: 2, output: 8 } }.`,
  )
}

/**
 * The input of a run as a copy of its own: the caller may go on to change what was passed.
 *
 * @throws MisuseError `empty_input` without a question, `invalid_input` for messages that are not plain JSON.
 */
export function checkedInput(input: AgentInput): RunInput {
  const runInput = runInputOf(input ?? '')
  const messages = plainCopy(messagesOf(runInput.messages ?? ''))
  if (!Array.isArray(messages)) {
    throw new MisuseError('invalid_input', 'The input of a run must be a question or an array of messages.')
  }
  const last = messages.findLast((message) => message?.role === 'user')
  if (last === undefined || (last.content ?? '').length === 0) {
    throw new MisuseError(
      'empty_input',
      'A run needs a question: a string that is not empty, or messages with a user message that is not empty.',
    )
  }
  checkMemoryState(runInput.memory)
  return { ...runInput, messages }
}

/** @throws MisuseError `invalid_input` for what is no `outcome.memory`. */
function checkMemoryState(memory: RunInput['memory']): void {
  if (memory === undefined) return
  const { calibration, ceiling = 1 } = memory ?? {}
  if (isPositive(calibration) && isPositive(ceiling)) return
  throw new MisuseError(
    'invalid_input',
    'memory must be the outcome.memory of an earlier run of the conversation.',
  )
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && value > 0
}

/**
 * A message for a run under way, as a copy of its own.
 *
 * @throws MisuseError `empty_input` where it says nothing, `invalid_input` where it is no message of the user's.
 */
export function checkedMessage(message: string | UserMessage): UserMessage {
  const [copy] = plainCopy(messagesOf(typeof message === 'string' ? message : [message]))
  if (copy?.role !== 'user') {
    throw new MisuseError(
      'invalid_input',
      "run.send needs a text or a user message: { role: 'user', content: '…' }.",
    )
  }
  const { content } = copy
  if (content === undefined || content === null || content.length === 0) {
    throw new MisuseError('empty_input', 'run.send needs a message that is not empty.')
  }
  if (typeof content !== 'string' && !Array.isArray(content)) {
    throw new MisuseError('invalid_input', 'The content of a message must be a text or an array of parts.')
  }
  return copy
}

function plainCopy<Value>(values: readonly Value[]): readonly Value[] {
  try {
    return JSON.parse(JSON.stringify(values)) as Value[]
  } catch (cause) {
    throw new MisuseError(
      'invalid_input',
      `Messages and decisions must be plain JSON, so that they can be sent and kept: ${messageOf(cause)}`,
      { cause },
    )
  }
}

/** @throws MisuseError `invalid_decision`: a text such as "false", from a web form, must not approve anything. */
export function checkedDecisions(decisions: readonly Decision[]): readonly Decision[] {
  const isSound = (decision: Decision): boolean =>
    typeof decision?.callId === 'string' && typeof decision.approved === 'boolean'
  if (Array.isArray(decisions) && decisions.every(isSound)) return plainCopy(decisions)
  throw new MisuseError(
    'invalid_decision',
    'decisions must be an array of { callId, approved }, with callId a string and approved true or false.',
  )
}

/** @throws MisuseError `invalid_option` for anything but a whole number of at least 1, or Infinity. */
export function placesFor(name: string, value: number): number {
  if (value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && value >= 1)) return value
  throw new MisuseError(
    'invalid_option',
    `${name} must be a whole number of at least 1, not ${String(value)}.`,
  )
}

/** @throws MisuseError `invalid_option` for what is no text, or empty. */
export function checkedRunId(runId: unknown): string {
  if (typeof runId === 'string' && runId !== '') return runId
  throw new MisuseError(
    'invalid_option',
    `The id of a run must be a text that is not empty, not ${typeof runId === 'string' ? '""' : String(runId)}.`,
  )
}

/** @throws MisuseError `invalid_option` for another word. */
export function checkWhenBusy(whenBusy: unknown): void {
  if (whenBusy === undefined || whenBusy === 'queue' || whenBusy === 'refuse') return
  throw new MisuseError('invalid_option', `whenBusy must be "queue" or "refuse", not "${String(whenBusy)}".`)
}

/** @throws MisuseError `invalid_fork` for what no fork can be made of. */
export function checkedFork(
  options: ForkOptions,
): ForkOptions & { readonly results?: Record<string, ToolAnswer> } {
  const { at, reply, results } = options ?? {}
  if (!Number.isInteger(at) || at < 1) {
    throw new MisuseError('invalid_fork', `at must be the number of a step, from 1 on, not ${String(at)}.`)
  }
  if (reply !== undefined && results !== undefined) {
    throw new MisuseError(
      'invalid_fork',
      'A fork has another reply or other results, not both: results are those of the calls that the model made.',
    )
  }
  if (reply !== undefined && !isReply(reply)) {
    throw new MisuseError(
      'invalid_fork',
      'reply must be a text that is not empty, or an assistant message with text or tool calls.',
    )
  }
  if (results === undefined) return options as ForkOptions & { readonly results?: never }
  return { ...options, results: Object.fromEntries(Object.entries(results).map(toolAnswer)) }
}

function isReply(reply: unknown): boolean {
  if (typeof reply === 'string') return reply.trim() !== ''
  const { content, tool_calls: calls } = (reply ?? {}) as Partial<AssistantMessage>
  return (typeof content === 'string' && isReply(content)) || (Array.isArray(calls) && calls.length > 0)
}

function toolAnswer([callId, result]: [string, unknown]): [string, ToolAnswer] {
  const answer = typeof result === 'string' ? { content: result } : result
  if (typeof (answer as ToolAnswer | null)?.content === 'string') return [callId, answer as ToolAnswer]
  throw new MisuseError(
    'invalid_fork',
    `The result of call "${callId}" must be a text, or { content, error } with content a text.`,
  )
}
