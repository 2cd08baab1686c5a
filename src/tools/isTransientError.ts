/** Codes of Node's network errors that may pass. https://nodejs.org/api/errors.html#common-system-errors */
const TRANSIENT_CODES: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_SOCKET',
])

/** Whether an error says of itself that it may pass, or is one of the network that may. Looks at its causes too. */
export function isTransientError(error: unknown): boolean {
  let current = error
  for (let depth = 0; depth < 5; depth++) {
    if (typeof current !== 'object' || current === null) return false
    const { retryable, code, cause } = current as { retryable?: unknown; code?: unknown; cause?: unknown }
    if (retryable === true || TRANSIENT_CODES.has(code)) return true
    current = cause
  }
  return false
}
