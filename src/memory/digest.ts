import { messageOf } from '../errors.ts'
import type { Spent } from '../machines/effects.ts'
import { capText } from '../messages/capText.ts'
import { estimateTokens } from '../messages/estimateTokens.ts'
import { withoutThoughts } from '../messages/jsonObjects.ts'
import type { ReadResult } from '../messages/readJson.ts'
import { soundReply } from '../messages/soundReply.ts'
import type { Message } from '../messages/types.ts'
import { usageOf } from '../messages/usage.ts'
import type { Model, ModelRequest } from '../models/model.ts'
import { within } from '../thenables.ts'
import type { CompactIO } from './memory.ts'

/** How often a model is asked before it is done without. */
const ATTEMPTS = 2

/** The most tokens of conversation that are put into one request, where the model's window is unknown. */
const DEFAULT_INPUT_TOKENS = 32_000

/** The share of a known window that the conversation may take. */
const INPUT_SHARE = 1 / 2

/** What came of asking a model to make something of old messages. */
export type Digest<Value> = {
  /** What was spent, over all attempts. */
  readonly spent: readonly Spent[]
} & ({ readonly value: Value } | { readonly value: undefined; readonly problem: string })

export interface DigestTask<Value> {
  readonly model: Model
  /** What to do, as the system message. */
  readonly task: string
  /** What to do it with. */
  readonly material: string
  /** What of the reply is taken; a problem is told to the model, once. */
  readonly read: (text: string) => ReadResult<Value>
}

/** Asks a model for a digest, and once more where what came is of no use. Never throws for what the model does. */
export async function digest<Value>(
  { model, task, material, read }: DigestTask<Value>,
  { signal, timeoutMs }: Pick<CompactIO, 'signal' | 'timeoutMs'>,
): Promise<Digest<Value>> {
  const spent: Spent[] = []
  let problem = ''
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const hint = problem === '' ? '' : `\n\nYour last try could not be used: ${problem}.`
    const request: ModelRequest = {
      messages: [
        { role: 'system', content: task + hint },
        { role: 'user', content: material },
      ],
      tools: [],
      toolChoice: 'none',
    }
    try {
      const reply = soundReply(await ask(model, request, { signal, timeoutMs }))
      if (reply === undefined) throw new Error(`the service of model "${model.id}" gave back no reply`)
      spent.push({ model: model.id, usage: usageOf(reply, request) })
      const result: ReadResult<Value> =
        reply.finish === 'length'
          ? { ok: false, problem: 'it was cut off at the output limit, so write less' }
          : read(withoutThoughts(reply.text).trim())
      if (result.ok) return { spent, value: result.value }
      problem = result.problem
    } catch (thrown) {
      if (signal.aborted) throw thrown
      problem = messageOf(thrown)
    }
  }
  return { spent, value: undefined, problem }
}

/** Asks a model, and gives it up after a while: one that hangs must not be waited for with every step. */
async function ask(
  model: Model,
  request: ModelRequest,
  { signal, timeoutMs }: Pick<CompactIO, 'signal' | 'timeoutMs'>,
): Promise<unknown> {
  const own = new AbortController()
  const late = (): Error => {
    const error = new Error(`${model.id} did not answer within ${timeoutMs} ms`)
    own.abort(error)
    return error
  }
  const asked = model.generate(request, { signal: AbortSignal.any([signal, own.signal]) })
  return within(timeoutMs, asked, late, signal)
}

/**
 * Messages as a text that a model can read and does not take for a conversation of its own. Long messages are cut so
 * that all fit into what the model takes.
 */
export function textOfMessages(messages: readonly Message[], { contextWindow }: Model): string {
  const texts = messages.map(textOfMessage)
  const room = contextWindow === undefined ? DEFAULT_INPUT_TOKENS : Math.floor(contextWindow * INPUT_SHARE)
  const total = texts.reduce((sum, text) => sum + estimateTokens(text), 0)
  const fitting = total <= room ? texts : texts.map((text) => capText(text, Math.floor(room / texts.length)))
  return fitting.join('\n')
}

function textOfMessage(message: Message): string {
  switch (message.role) {
    case 'assistant': {
      const calls = (message.tool_calls ?? []).map(
        ({ function: { name, arguments: args } }) => `(calls ${name} with ${args})`,
      )
      return [`assistant: ${message.content ?? ''}`.trimEnd(), ...calls].join('\n')
    }
    case 'tool':
      return `tool result: ${message.content}`
    default:
      return `${message.role}: ${typeof message.content === 'string' ? message.content : textOfParts(message.content)}`
  }
}

function textOfParts(parts: readonly { readonly type: string; readonly text?: unknown }[]): string {
  return parts.map((part) => (typeof part.text === 'string' ? part.text : `[${part.type}]`)).join('\n')
}
