import { MisuseError, messageOf } from '../errors.ts'
import type { ModelReply } from '../messages/reply.ts'
import { soundReply } from '../messages/soundReply.ts'
import type { AssistantMessage, ToolCall } from '../messages/types.ts'
import { hush } from '../thenables.ts'
import { AnswerStream } from './jsonProtocol/answerStream.ts'
import { conversationOf } from './jsonProtocol/conversation.ts'
import { instructionsFor } from './jsonProtocol/instructions.ts'
import { protocolSchema } from './jsonProtocol/protocolSchema.ts'
import { type Directive, readReply } from './jsonProtocol/readReply.ts'
import { toolNamed } from './jsonProtocol/words.ts'
import type { Model, ModelIO, ModelRequest, ResponseFormat } from './model.ts'

export interface JsonProtocolOptions {
  /** Ask the provider to hold its model to JSON. Default: true. */
  readonly responseFormat?: boolean
  /** Ask for the exact schema of a reply instead of any JSON object, where the provider can do that. Default: false. */
  readonly schema?: boolean
  /** Stop the model where it begins to invent an observation. Default: true. Some models refuse stop texts. */
  readonly stop?: boolean
  /** What counts where a reply names an action and gives a final answer. Default: `action`. */
  readonly whenBoth?: 'action' | 'answer'
  /**
   * What becomes of a reply that is not of the agreed form: the model is told so and asked again, within
   * `limits.malformed`, or its text is taken for the answer. A function words what the model is told; it is given what it
   * would be told otherwise. Default: `nudge`.
   */
  readonly whenUnparseable?: 'nudge' | 'answer' | ((problem: string) => string)
}

/** Models that invent what a tool returned begin so. */
const INVENTED_OBSERVATION = '\nObservation'

/**
 * Lets a model whose provider has no tool calling use tools. They are described in the system message, and the model
 * replies with one JSON object: `{thought, action, action_input}` or `{thought, final_answer}`. The transcript is the
 * same as with any other model, so runs can be moved from one to the other.
 *
 * @example
 * const model = jsonProtocol(openaiChat('gemma-3', { baseURL: 'http://localhost:8080/v1' }))
 * @throws MisuseError `invalid_model` where there is no model to wrap.
 */
export function jsonProtocol(model: Model, options: JsonProtocolOptions = {}): Model {
  if (typeof model?.generate !== 'function') {
    throw new MisuseError('invalid_model', 'jsonProtocol needs a model to wrap, for instance openaiChat(…).')
  }
  const { whenUnparseable: given } = options
  if (![undefined, 'nudge', 'answer'].includes(given as string) && typeof given !== 'function') {
    throw new MisuseError(
      'invalid_option',
      `whenUnparseable must be "nudge", "answer" or a function that returns a text, not ${String(given)}.`,
    )
  }
  return {
    id: model.id,
    ...(model.contextWindow === undefined ? {} : { contextWindow: model.contextWindow }),
    ...(model.ids === undefined ? {} : { ids: model.ids }),
    async generate(request, io) {
      const { whenBoth = 'action', whenUnparseable = 'nudge' } = options
      const tools = offered(request).map(({ name }) => name)
      const actionWins = tools.length > 0 && whenBoth === 'action'
      const stream = new AnswerStream((action) => actionWins && toolNamed(action, tools) !== undefined)
      const given: unknown = await model.generate(toText(request, options), watching(io, stream))
      const reply = soundReply(given)
      if (reply === undefined) return given as ModelReply
      if (reply.toolCalls.length > 0) return reply
      const directive = readReply(reply.text, {
        wasCut: reply.finish === 'length',
        actionWins,
        plainAnswers: tools.length === 0 || whenUnparseable === 'answer',
        structured: request.responseFormat !== undefined,
        tools,
      })
      const read = worded(fromText(reply, directive), whenUnparseable)
      const rest = stream.restOf(read.text)
      if (rest !== '') io.onDelta?.({ text: rest })
      return read
    },
  }
}

/** A reply that cannot be read, in the words of the user's; in Loopchart's own where those are no text. */
function worded(reply: ModelReply, say: JsonProtocolOptions['whenUnparseable']): ModelReply {
  const { problem } = reply
  if (problem === undefined || typeof say !== 'function') return reply
  try {
    const words: unknown = say(problem)
    hush(words)
    return typeof words === 'string' && words.trim() !== '' ? { ...reply, problem: words } : reply
  } catch (thrown) {
    throw new MisuseError('invalid_option', `whenUnparseable threw: ${messageOf(thrown)}`)
  }
}

function offered({ tools, toolChoice }: ModelRequest): ModelRequest['tools'] {
  return toolChoice === 'none' ? [] : tools
}

/** The request as a provider without tools understands it. */
function toText(request: ModelRequest, options: JsonProtocolOptions): ModelRequest {
  const tools = offered(request)
  const format = formatFor(request, options)
  const stop = [
    ...(request.stop ?? []),
    ...(tools.length > 0 && options.stop !== false ? [INVENTED_OBSERVATION] : []),
  ]
  return {
    messages: conversationOf(request.messages, {
      structured: request.responseFormat !== undefined,
      instructions: (given) => instructionsFor({ ...request, tools }, given),
    }),
    tools: [],
    toolChoice: 'none',
    ...(format === undefined ? {} : { responseFormat: format }),
    ...(stop.length === 0 ? {} : { stop }),
  }
}

function formatFor(request: ModelRequest, options: JsonProtocolOptions): ResponseFormat | undefined {
  if (options.responseFormat === false) return undefined
  if (options.schema !== true) return { type: 'json_object' }
  return { type: 'json_schema', name: 'reply', schema: protocolSchema(offered(request), request) }
}

/** Shows of the JSON text that streams in only the answer. */
function watching(io: ModelIO, stream: AnswerStream): ModelIO {
  const { onDelta, onReset } = io
  if (onDelta === undefined) return io
  return {
    ...io,
    onDelta(delta) {
      const text = stream.add(delta.text)
      if (text !== '') onDelta({ ...delta, text })
    },
    onReset() {
      stream.restart()
      onReset?.()
    },
  }
}

/** The reply as a provider with tool calling would have given it. */
function fromText(reply: ModelReply, directive: Directive): ModelReply {
  const { tool_calls: _none, ...extras } = reply.message
  const said = (text: string, content: string | null, calls: readonly ToolCall[] = []): ModelReply => {
    const message: AssistantMessage = { ...extras, role: 'assistant', content }
    return {
      ...reply,
      text,
      toolCalls: calls,
      message: calls.length === 0 ? message : { ...message, tool_calls: calls },
    }
  }
  if (reply.refusal !== undefined || reply.finish === 'content_filter') {
    const text = directive.kind === 'answer' || directive.kind === 'cut' ? directive.text : ''
    return said(text, text || null)
  }
  switch (directive.kind) {
    case 'action': {
      const { name, arguments: args, thought } = directive
      const call: ToolCall = { id: '', type: 'function', function: { name, arguments: args } }
      return { ...said('', thought ?? null, [call]), finish: 'tool_calls' }
    }
    case 'answer':
      return {
        ...said(directive.text, directive.text),
        // The object was whole: what was cut off came after it.
        finish: reply.finish === 'length' ? 'stop' : reply.finish,
      }
    case 'cut':
      return said(directive.text, directive.text || null)
    case 'empty':
      return said('', null)
    case 'problem':
      return { ...said('', null), finish: 'unknown', problem: directive.problem }
  }
}
