import { messageOf } from '../errors.ts'
import { fieldsOf } from '../messages/fields.ts'
import { classifyError } from './classifyError.ts'
import { ModelError } from './modelError.ts'

/** Codes of a failed response that blame the request, which asking again would only repeat. */
const BLAMES_REQUEST = /^(invalid_|image_|empty_image|unsupported_|failed_to_download)|policy|data_residency/

/** Says what a failed call of the Responses API was, in the vocabulary of all providers. */
export function classifyResponseError(
  thrown: unknown,
  call: { readonly model: string; readonly timeoutMs: number },
): ModelError {
  if (isUnreadable(thrown)) {
    return new ModelError('malformed_reply', `The reply cannot be read: ${messageOf(thrown)}`, {
      retryable: true,
      cause: thrown,
    })
  }
  const error = errorInStream(thrown) ?? thrown
  const { status, code } = fieldsOf(error)
  if (status === undefined && typeof code === 'string' && BLAMES_REQUEST.test(code)) {
    return new ModelError('bad_request', messageOf(error), { retryable: false, cause: thrown })
  }
  return classifyError(error, call)
}

/** What the SDK trips over: text that is no JSON, or JSON that is no response. A lost connection has a cause. */
function isUnreadable(thrown: unknown): boolean {
  return thrown instanceof SyntaxError || (thrown instanceof TypeError && thrown.cause === undefined)
}

/** The SDK wraps the error object of a stream into an error without a status, which looks like a lost connection. */
function errorInStream(thrown: unknown): object | undefined {
  const { status, error } = fieldsOf(thrown)
  return status === undefined && typeof error === 'object' && error !== null ? error : undefined
}
