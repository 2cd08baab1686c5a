import { findViolations } from '../messages/invariants.ts'
import { fieldsOf, textOf } from '../messages/normalizeReply.ts'
import type { Message, ToolCall } from '../messages/types.ts'
import { ApiError } from './apiError.ts'
import { parsed } from './turn.ts'

type Fields = Readonly<Record<string, unknown>>

/** A request that was found valid. */
export interface CheckedRequest {
  readonly body: Fields
  readonly model: string
  readonly stream: boolean
  readonly includeUsage: boolean
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * Checks a chat-completions request the way a strict provider does, so that a broken transcript is noticed.
 *
 * @throws ApiError 400, or 404 `model_not_found`, for the first thing that is wrong.
 */
export function checkRequest(text: string, models: readonly string[]): CheckedRequest {
  const json = parsed(text)
  if (json === undefined) throw new ApiError(400, 'We could not parse the JSON body of your request.')
  const body = fieldsOf(json)
  const model = modelOf(body.model, models)
  checkMessages(body.messages)
  checkTools(body)
  const stream = body.stream === true
  if (present(body.stream_options) && !stream) {
    throw invalid('stream_options', "'stream_options' is only allowed when 'stream' is enabled")
  }
  return { body, model, stream, includeUsage: fieldsOf(body.stream_options).include_usage === true }
}

function modelOf(model: unknown, models: readonly string[]): string {
  if (typeof model !== 'string') throw missing('model')
  if (models.includes(model)) return model
  throw new ApiError(404, `The model \`${model}\` does not exist or you do not have access to it.`, {
    code: 'model_not_found',
  })
}

function checkMessages(raw: unknown): void {
  if (!present(raw)) throw missing('messages')
  if (!Array.isArray(raw)) throw invalid('messages', "'messages' must be an array")
  if (raw.length === 0) throw invalid('messages', "'messages' is an empty array", 'empty_array')
  const [violation] = findViolations(raw.map((message, index) => messageOf(fieldsOf(message), index)))
  if (violation === undefined) return
  const { index, rule, message } = violation
  throw invalid(`messages[${index}]`, message, rule)
}

/** The message as far as the pairing rules look at it. Parts become text, so that only emptiness is judged. */
function messageOf(raw: Fields, index: number): Message {
  const at = `messages[${index}]`
  switch (raw.role) {
    case 'system':
    case 'developer':
    case 'user':
      return { role: raw.role, content: contentOf(raw.content, at) }
    case 'tool':
      if (typeof raw.tool_call_id !== 'string') throw missing(`${at}.tool_call_id`)
      return { role: 'tool', tool_call_id: raw.tool_call_id, content: contentOf(raw.content, at) }
    case 'assistant':
      return {
        role: 'assistant',
        content: present(raw.content) ? contentOf(raw.content, at) : null,
        ...(present(raw.tool_calls) ? { tool_calls: callsOf(raw.tool_calls, `${at}.tool_calls`) } : {}),
      }
    default:
      throw invalid(`${at}.role`, `${JSON.stringify(raw.role) ?? 'nothing'} is not a role`)
  }
}

function contentOf(content: unknown, at: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalid(`${at}.content`, 'it must be a string or an array of parts')
  return textOf(content) || JSON.stringify(content)
}

function callsOf(raw: unknown, at: string): ToolCall[] {
  if (!Array.isArray(raw)) throw invalid(at, 'it must be an array')
  if (raw.length === 0) throw invalid(at, 'it is an empty array', 'empty_array')
  return raw.map((entry, index) => {
    const { id, type, function: called } = fieldsOf(entry)
    const { name, arguments: args } = fieldsOf(called)
    if (typeof id !== 'string') throw missing(`${at}[${index}].id`)
    if (type !== 'function') throw invalid(`${at}[${index}].type`, 'it must be "function"')
    if (typeof name !== 'string') throw missing(`${at}[${index}].function.name`)
    if (typeof args !== 'string') throw missing(`${at}[${index}].function.arguments`)
    return { id, type, function: { name, arguments: args } }
  })
}

function checkTools({ tools, tool_choice: choice, parallel_tool_calls: parallel }: Fields): void {
  if (!present(tools)) {
    if (present(choice)) throw invalid('tool_choice', "it is only allowed when 'tools' are specified")
    if (present(parallel))
      throw invalid('parallel_tool_calls', "it is only allowed when 'tools' are specified")
    return
  }
  if (!Array.isArray(tools)) throw invalid('tools', 'it must be an array')
  if (tools.length === 0) throw invalid('tools', 'it is an empty array', 'empty_array')
  const names = tools.map((tool, index) => toolNameOf(fieldsOf(tool), `tools[${index}]`))
  const forced = fieldsOf(fieldsOf(choice).function).name
  if (forced !== undefined && !names.some((name) => name === forced)) {
    throw invalid('tool_choice', `there is no tool ${JSON.stringify(forced)}`)
  }
}

function toolNameOf({ type, function: described }: Fields, at: string): string {
  const { name } = fieldsOf(described)
  if (type !== 'function') throw invalid(`${at}.type`, 'it must be "function"')
  if (typeof name !== 'string' || !TOOL_NAME.test(name)) {
    throw invalid(`${at}.function.name`, 'it must be 1 to 64 letters, digits, "_" or "-"')
  }
  return name
}

/** The API takes `null` for "not given". */
function present(value: unknown): boolean {
  return value !== undefined && value !== null
}

function missing(param: string): ApiError {
  return new ApiError(400, `Missing required parameter: '${param}'.`, {
    code: 'missing_required_parameter',
    param,
  })
}

function invalid(param: string, reason: string, code = 'invalid_value'): ApiError {
  return new ApiError(400, `Invalid '${param}': ${reason}.`, { code, param })
}
