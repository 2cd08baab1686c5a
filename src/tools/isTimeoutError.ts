/** Codes of errors of Node's network, of clients and of Loopchart that say that the other side took too long. */
const TIMED_OUT: ReadonlySet<unknown> = new Set([
  'ETIMEDOUT',
  'ESOCKETTIMEDOUT',
  'ECONNABORTED',
  'timeout',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
])

/** Names of such errors: that of `AbortSignal.timeout`, and that of the OpenAI SDK. */
const TIMEOUT_NAMES: ReadonlySet<unknown> = new Set(['TimeoutError', 'APIConnectionTimeoutError'])

/**
 * Whether a tool threw because something that it waited for took too long: what `AbortSignal.timeout` aborts with, and
 * timeouts of the network. Looks at its causes too. Never throws.
 *
 * https://nodejs.org/api/errors.html#common-system-errors
 */
export function isTimeoutError(error: unknown): boolean {
  try {
    let current = error
    for (let depth = 0; depth < 5; depth++) {
      if (typeof current !== 'object' || current === null) return false
      const { name, code, cause } = current as { name?: unknown; code?: unknown; cause?: unknown }
      if (TIMEOUT_NAMES.has(name) || TIMED_OUT.has(code)) return true
      current = cause
    }
    return false
  } catch {
    return false
  }
}
