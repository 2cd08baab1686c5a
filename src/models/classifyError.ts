import { messageOf } from '../errors.ts'
import { fieldsOf } from '../messages/fields.ts'
import { ModelError, type ModelErrorCode } from './modelError.ts'

/** How providers word that a request is longer than the model's context. */
const CONTEXT_TOO_LONG =
  /context[ _-]?(length|window|size)|maximum (context|prompt)|too many tokens|prompt is too long|input is too long|max_model_len|exceeds the maximum number of tokens|range of input length|exceeded model token limit|tokens_limit_reached/i

/** How providers word that their filter refused the request itself. */
const CONTENT_FILTERED = /content_filter|content_policy|content management policy|data_inspection_failed/i

const QUOTA_EXCEEDED = /insufficient_quota|exceeded your current quota|billing/i

/**
 * Turns what an OpenAI client throws into one vocabulary, and says whether another attempt may help. Reads fields
 * instead of classes, so that an error of another copy of the SDK, or a bare error object from a stream, is
 * understood as well.
 */
export function classifyError(
  thrown: unknown,
  call: { readonly model: string; readonly timeoutMs: number },
): ModelError {
  if (thrown instanceof ModelError) return thrown
  const { status: rawStatus, name, headers, code: rawCode, type, error: body } = fieldsOf(thrown)
  const status = [rawStatus, rawCode, Number(rawCode)].find(isHttpError) ?? statusOfWords(rawCode, type)
  const said = messageOf(thrown)
  const words = [said, rawCode, type].filter((word) => typeof word === 'string').join(' ')
  const fail = (code: ModelErrorCode, message: string, retryable: boolean): ModelError =>
    new ModelError(code, message, { retryable, status, retryAfterMs: retryAfterMs(headers), cause: thrown })

  // A rate limit counts tokens too.
  if (CONTEXT_TOO_LONG.test(words) && status !== 429) {
    return fail('context_too_long', `The conversation is too long for ${call.model}: ${said}`, false)
  }
  if (CONTENT_FILTERED.test(words) && (status === undefined || (status >= 400 && status < 500))) {
    return fail('content_filter', `The provider's content filter refused the request: ${said}`, false)
  }
  if (isTimeout(thrown, name)) {
    return fail('timeout', `${call.model} did not answer within ${call.timeoutMs} ms.`, true)
  }
  // A provider that says when to come back has not used up a quota, however it words that.
  const mayComeBack = rawCode === 'rate_limit_exceeded' || retryAfterMs(headers) !== undefined
  if (status === 402 || (QUOTA_EXCEEDED.test(words) && (status ?? 429) === 429 && !mayComeBack)) {
    return fail('quota_exceeded', said, false)
  }
  if (thrown instanceof SyntaxError) {
    return fail('malformed_reply', `The reply is not JSON: ${said}`, true)
  }
  if (status === undefined) {
    if (rawCode === 'rate_limit_exceeded') return fail('rate_limit', said, true)
    // What the provider itself said, inside a stream or a body, is no failure of the connection.
    const isFromProvider = name === undefined || (typeof body === 'object' && body !== null)
    if (isFromProvider && (rawCode ?? type ?? body) !== undefined) return fail('overloaded', said, true)
    return fail('connection', `The connection to the model failed: ${deepestMessage(thrown)}`, true)
  }
  switch (status) {
    case 401:
      return fail('authentication', `The API key was refused: ${said}`, false)
    case 403:
      return fail('permission', `The request is not allowed with this API key: ${said}`, false)
    case 404:
      return fail('not_found', `The model or endpoint was not found: ${said}`, false)
    case 408:
      return fail('timeout', said, true)
    case 429:
      return fail('rate_limit', said, true)
    default:
      return status === 409 || status >= 500
        ? fail('overloaded', said, true)
        : fail('bad_request', said, false)
  }
}

/**
 * Milliseconds that a response asks us to wait: `retry-after-ms`, or `Retry-After` in seconds or as an HTTP date
 * (RFC 9110, section 10.2.3). A date in the past is 0; what cannot be read is ignored.
 */
export function retryAfterMs(headers: unknown, now: number = Date.now()): number | undefined {
  if (!(headers instanceof Headers)) return undefined
  const milliseconds = headers.get('retry-after-ms')
  if (milliseconds !== null && isDigits(milliseconds)) return Number(milliseconds)
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (isDigits(value)) return Number(value) * 1000
  // An HTTP date ends in GMT; Date.parse alone reads a lone "-5" or "junk 1" as a date.
  const date = /GMT$/i.test(value.trim()) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** What an error inside a body or a stream would have had for a status. */
function statusOfWords(code: unknown, type: unknown): number | undefined {
  const words = [code, type]
  if (words.includes('invalid_api_key') || words.includes('authentication_error')) return 401
  if (words.includes('permission_error')) return 403
  if (words.includes('model_not_found') || words.includes('not_found_error')) return 404
  return words.includes('invalid_request_error') ? 400 : undefined
}

/** Errors inside a body or a stream carry the status as their code. */
function isHttpError(value: unknown): value is number {
  return typeof value === 'number' && value >= 400 && value < 600
}

function isDigits(text: string): boolean {
  return /^\d+(\.\d+)?$/.test(text.trim())
}

function isTimeout(thrown: unknown, name: unknown): boolean {
  if (name === 'TimeoutError') return true
  // The SDK's error classes carry no name of their own.
  return thrown instanceof Error && thrown.constructor.name === 'APIConnectionTimeoutError'
}

/** A failed fetch hides why (ECONNREFUSED, a bad host name) at the end of its chain of causes. */
function deepestMessage(thrown: unknown): string {
  let error = thrown
  for (let depth = 0; depth < 5; depth++) {
    const { cause } = fieldsOf(error)
    if (cause === undefined || cause === null) break
    error = cause
  }
  const { code } = fieldsOf(error)
  const message = messageOf(error)
  return typeof code === 'string' && !message.includes(code) ? `${message} (${code})` : message
}
