import { messageOf } from '../errors.ts'
import { fieldsOf } from '../messages/fields.ts'
import { classifyError } from '../models/classifyError.ts'
import { ModelError, type ModelErrorCode } from '../models/modelError.ts'

/**
 * What the errors of `@ai-sdk/provider` mean that say more than a status. They are told by name, because each version
 * of the package has classes of its own.
 */
const MEANINGS: Readonly<Record<string, ModelErrorCode>> = {
  AI_EmptyResponseBodyError: 'malformed_reply',
  AI_InvalidResponseDataError: 'malformed_reply',
  AI_JSONParseError: 'malformed_reply',
  AI_NoContentGeneratedError: 'malformed_reply',
  AI_TypeValidationError: 'malformed_reply',
  AI_InvalidArgumentError: 'bad_request',
  AI_InvalidPromptError: 'bad_request',
  AI_UnsupportedFunctionalityError: 'bad_request',
  AI_LoadAPIKeyError: 'authentication',
  AI_LoadSettingError: 'bad_request',
  AI_NoSuchModelError: 'not_found',
}

/** Says what a failed call of a provider was, in the vocabulary of all providers. */
export function classifyFailure(
  thrown: unknown,
  call: { readonly model: string; readonly timeoutMs: number },
): ModelError {
  if (thrown instanceof ModelError) return thrown
  const { name, statusCode } = fieldsOf(thrown)
  const meaning = typeof name === 'string' ? MEANINGS[name] : undefined
  if (meaning !== undefined) {
    return new ModelError(meaning, messageOf(thrown), {
      retryable: meaning === 'malformed_reply',
      cause: thrown,
    })
  }
  if (name === 'AI_APICallError' || typeof statusCode === 'number') return classifyApiCall(thrown, call)
  // A provider's stream may tell of an error as a bare text, which is no lost connection.
  return classifyError(typeof thrown === 'string' ? { message: thrown, type: 'error' } : thrown, call)
}

function classifyApiCall(
  thrown: unknown,
  call: { readonly model: string; readonly timeoutMs: number },
): ModelError {
  const { statusCode, responseHeaders, isRetryable, data, cause } = fieldsOf(thrown)
  const isSuccess = typeof statusCode === 'number' && statusCode >= 200 && statusCode < 300
  const message = messageOf(thrown)
  // The status was good, so either the connection broke under the body, or the body made no sense.
  if (isSuccess && isRetryable !== true) {
    return new ModelError('malformed_reply', message, { retryable: true, status: statusCode, cause: thrown })
  }
  const { code, type } = errorBody(data)
  const said = classifyError(
    {
      name: 'APICallError',
      message,
      status: isSuccess ? undefined : statusCode,
      headers: headersOf(responseHeaders),
      code,
      type,
      cause,
    },
    call,
  )
  return new ModelError(said.code, said.message, {
    // Both have to think so: providers call a quota that is used up retryable, and know signs that we do not.
    retryable: said.retryable && isRetryable !== false,
    status: said.status,
    retryAfterMs: said.retryAfterMs,
    cause: thrown,
  })
}

/** The `error` of a parsed error body, or the body itself where it has none. */
function errorBody(data: unknown): Readonly<Record<string, unknown>> {
  const body = fieldsOf(data)
  return body.error === undefined ? body : fieldsOf(body.error)
}

function headersOf(headers: unknown): Headers | undefined {
  const entries = Object.entries(fieldsOf(headers)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return new Headers(entries)
}
