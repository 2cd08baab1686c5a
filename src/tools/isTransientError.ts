/** Errors of Node's network after which nothing can have happened yet. */
const NOTHING_SENT: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

/** Errors of Node's network after which the other side may have done its work. */
const BROKEN_MIDWAY: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_SOCKET',
])

/**
 * Whether trying again after an error may help, and is safe: it says so of itself (`retryable: true`), nothing can have
 * been sent yet, or the connection broke midway and the tool may run twice. Looks at its causes too.
 *
 * https://nodejs.org/api/errors.html#common-system-errors
 */
export function isTransientError(error: unknown, idempotent: boolean): boolean {
  let current = error
  for (let depth = 0; depth < 5; depth++) {
    if (typeof current !== 'object' || current === null) return false
    const { retryable, code, cause } = current as { retryable?: unknown; code?: unknown; cause?: unknown }
    if (retryable === true || NOTHING_SENT.has(code)) return true
    if (BROKEN_MIDWAY.has(code)) return idempotent
    current = cause
  }
  return false
}
