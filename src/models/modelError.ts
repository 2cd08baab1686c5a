import { LoopchartError } from '../errors.ts'

/** What can go wrong when a model is called, in one vocabulary for all providers. */
export type ModelErrorCode =
  | 'authentication'
  | 'permission'
  | 'not_found'
  | 'bad_request'
  | 'context_too_long'
  | 'content_filter'
  | 'rate_limit'
  | 'quota_exceeded'
  | 'overloaded'
  | 'timeout'
  | 'connection'
  | 'malformed_reply'

/** A model call that failed. */
export class ModelError extends LoopchartError {
  override readonly name = 'ModelError'
  declare readonly code: ModelErrorCode
  /** Whether another attempt may help. */
  readonly retryable: boolean
  /** HTTP status, where there was one. */
  readonly status?: number
  /** Milliseconds that the provider asked us to wait. */
  readonly retryAfterMs?: number

  constructor(
    code: ModelErrorCode,
    message: string,
    details: {
      readonly retryable: boolean
      readonly status?: number | undefined
      readonly retryAfterMs?: number | undefined
      readonly cause?: unknown
    },
  ) {
    super(code, message, { cause: details.cause })
    this.retryable = details.retryable
    if (details.status !== undefined) this.status = details.status
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs
  }
}
