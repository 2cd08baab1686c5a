/** An error in the form in which OpenAI's API answers. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** HTTP status. */
  readonly status: number
  readonly type: string
  readonly code: string | null
  /** The request's field that is at fault. */
  readonly param: string | null

  constructor(
    status: number,
    message: string,
    details: { readonly code?: string; readonly param?: string; readonly type?: string } = {},
  ) {
    super(message)
    this.status = status
    this.type = details.type ?? 'invalid_request_error'
    this.code = details.code ?? null
    this.param = details.param ?? null
  }

  toJSON(): { readonly error: Readonly<Record<string, unknown>> } {
    const { message, type, param, code } = this
    return { error: { message, type, param, code } }
  }
}
