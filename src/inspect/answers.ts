import { LoopchartError, MisuseError, messageOf } from '../errors.ts'

/**
 * What every answer says: nothing of it is kept, shown in a frame, taken for another type or told to other sites, and
 * nothing in it runs.
 */
const strict: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

export interface AnswerOptions {
  readonly status?: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

type Body = ConstructorParameters<typeof Response>[0]

export function answer(body: Body, { status = 200, type, headers = {} }: AnswerOptions): Response {
  const all = new Headers(strict)
  if (type !== undefined) all.set('content-type', type)
  // What an answer says itself replaces what all say, whatever the case of its name.
  for (const [name, value] of Object.entries(headers)) all.set(name, value)
  return new Response(body, { status, headers: all })
}

export function jsonAnswer(value: unknown, status = 200): Response {
  return jsonTextAnswer(JSON.stringify(value), status)
}

export function jsonTextAnswer(text: string, status = 200): Response {
  return answer(text, { status, type: 'application/json; charset=utf-8' })
}

/** Why a request is refused, with the status that says so. */
export class RequestError extends LoopchartError {
  override readonly name = 'RequestError'
  readonly status: number

  constructor(status: number, code: string, message: string) {
    super(code, message)
    this.status = status
  }
}

/** An error as the page is told of it. */
export function errorAnswer(thrown: unknown): Response {
  const code = thrown instanceof LoopchartError ? thrown.code : 'internal_error'
  return jsonAnswer({ error: { code, message: messageOf(thrown) } }, statusOf(thrown))
}

const statuses: Readonly<Record<string, number>> = {
  run_not_found: 404,
  // What is asked for does not go with how things stand.
  run_active: 409,
  run_ended: 409,
  redacted_arguments: 409,
  run_exists: 409,
  run_not_active: 409,
  other_agent: 409,
  agent_closed: 409,
  no_journal: 409,
  journal_mismatch: 409,
  approval_mismatch: 409,
  journal_error: 503,
  journal_invalid: 422,
}

function statusOf(thrown: unknown): number {
  if (thrown instanceof RequestError) return thrown.status
  if (!(thrown instanceof LoopchartError)) return 500
  return statuses[thrown.code] ?? (thrown instanceof MisuseError ? 422 : 409)
}
