/** What every error of Loopchart carries: a stable `code` to branch on, beside a message made for people. */
export class LoopchartError extends Error {
  override readonly name: string = 'LoopchartError'
  readonly code: string

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** The programmer's mistake (a bad option, a duplicate tool): thrown at once, never turned into an outcome. */
export class MisuseError extends LoopchartError {
  override readonly name = 'MisuseError'
}

/** An error as plain data: what the machine, the journal and the events carry instead of an `Error`. */
export interface ErrorInfo {
  /** Stable identifier, such as `rate_limit` or `unknown_error`. */
  readonly code: string
  readonly message: string
  /** Whether trying again may help. */
  readonly retryable: boolean
  /** Milliseconds that the provider asked us to wait before the next attempt. */
  readonly retryAfterMs?: number
  /** HTTP status, where there was one. */
  readonly status?: number
}

/** The text of anything that was thrown: JavaScript lets people throw strings, `undefined` and frozen objects. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message || thrown.name
    if (typeof thrown === 'string') return thrown
    if (typeof thrown === 'object' && thrown !== null) {
      const { message } = thrown as { message?: unknown }
      if (typeof message === 'string') return message
      return JSON.stringify(thrown) ?? 'an object'
    }
    return String(thrown)
  } catch {
    return 'an error that cannot be shown'
  }
}

/** Plain data for anything that was thrown. An `ErrorInfo` passes through, so describing twice is harmless. */
export function describeError(thrown: unknown): ErrorInfo {
  const fields = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as Partial<ErrorInfo>
  try {
    return {
      code: typeof fields.code === 'string' ? fields.code : 'unknown_error',
      message: messageOf(thrown),
      retryable: fields.retryable === true,
      ...(typeof fields.retryAfterMs === 'number' ? { retryAfterMs: fields.retryAfterMs } : {}),
      ...(typeof fields.status === 'number' ? { status: fields.status } : {}),
    }
  } catch {
    return { code: 'unknown_error', message: messageOf(thrown), retryable: false }
  }
}
