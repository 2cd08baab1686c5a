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

/**
 * Why work is stopped, or its call given no answer, where an agent is closed: it goes on in another process, so nothing of
 * it is final. Its code is `interrupted`.
 */
export class Interruption extends LoopchartError {
  static readonly code = 'interrupted'

  constructor() {
    super(Interruption.code, 'The agent was closed before this had ended.')
  }
}

/** A journal that cannot be read. It says where; other runs of its store are not concerned. */
export class JournalError extends LoopchartError {
  override readonly name = 'JournalError'
  readonly runId: string
  /** The entry that cannot be read, from 0 on. */
  readonly position: number

  constructor(
    message: string,
    {
      runId,
      position,
      cause,
    }: { readonly runId: string; readonly position: number; readonly cause?: unknown },
  ) {
    super('journal_invalid', message, cause === undefined ? {} : { cause })
    this.runId = runId
    this.position = position
  }
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

/** The text of anything that was thrown: JavaScript lets people throw strings, `undefined` and hostile objects. */
export function messageOf(thrown: unknown): string {
  try {
    if (typeof thrown === 'string') return thrown
    if (typeof thrown === 'object' && thrown !== null) {
      const { message, name } = thrown as { message?: unknown; name?: unknown }
      if (thrown instanceof Error) return String(message || name)
      return typeof message === 'string' ? message : String(JSON.stringify(thrown))
    }
    return String(thrown)
  } catch {
    return 'an error that cannot be shown'
  }
}

/** Plain data for anything that was thrown. An `ErrorInfo` passes through, so describing twice is harmless. */
export function describeError(thrown: unknown): ErrorInfo {
  const message = messageOf(thrown)
  try {
    const { code, retryable, retryAfterMs, status } = (
      typeof thrown === 'object' && thrown !== null ? thrown : {}
    ) as Partial<ErrorInfo>
    return {
      code: typeof code === 'string' ? code : 'unknown_error',
      message,
      retryable: retryable === true,
      ...(isDuration(retryAfterMs) ? { retryAfterMs } : {}),
      ...(typeof status === 'number' ? { status } : {}),
    }
  } catch {
    return { code: 'unknown_error', message, retryable: false }
  }
}

function isDuration(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
