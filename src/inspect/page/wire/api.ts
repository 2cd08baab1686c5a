import type { ErrorInfo } from '../../../errors.ts'
import type { Decision } from '../../../machines/reducers.ts'
import type { UserMessage } from '../../../messages/types.ts'
import type {
  About,
  ChartDrawing,
  DecisionsRequest,
  EventsPage,
  ForkRequest,
  InspectedEvent,
  RunRow,
  RunsPage,
} from '../../protocol.ts'
import type { RunFilter } from './runList.ts'

/** An answer that is an error, or none. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: string
  /** HTTP status; 0 where there was no answer. */
  readonly status: number

  constructor({ code, message }: Pick<ErrorInfo, 'code' | 'message'>, status: number) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** How many runs are read at once. */
const RUNS_AT_ONCE = 100

export function readAbout(): Promise<About> {
  return request('api/about')
}

export function readChart(): Promise<ChartDrawing> {
  return request('api/chart')
}

export function readRuns({ status, search }: RunFilter, before?: string): Promise<RunsPage> {
  const query = new URLSearchParams({
    ...(status === undefined ? {} : { status }),
    ...(search === '' ? {} : { search }),
    ...(before === undefined ? {} : { before }),
    limit: String(RUNS_AT_ONCE),
  })
  return request(`api/runs?${query}`)
}

export function readRun(runId: string): Promise<RunRow> {
  return request(pathOf(runId))
}

export function readEvents(runId: string, from: number): Promise<EventsPage> {
  return request(`${pathOf(runId)}/events?from=${from}`)
}

/** All of an event that was told abridged. */
export function readEvent(runId: string, index: number): Promise<InspectedEvent> {
  return request(`${pathOf(runId)}/events/${index}`)
}

export async function decide(runId: string, decisions: readonly Decision[]): Promise<void> {
  const body: DecisionsRequest = { decisions }
  await post(`${pathOf(runId)}/decisions`, body)
}

export async function send(runId: string, message: UserMessage): Promise<void> {
  await post(`${pathOf(runId)}/messages`, { message })
}

export async function cancel(runId: string, message: string): Promise<void> {
  await post(`${pathOf(runId)}/cancel`, message === '' ? {} : { message })
}

export async function resume(runId: string): Promise<void> {
  await post(`${pathOf(runId)}/resume`, {})
}

export async function fork(runId: string, change: ForkRequest): Promise<string> {
  const { runId: forkId } = await post<{ runId: string }>(`${pathOf(runId)}/fork`, change)
  return forkId
}

/**
 * Opens the stream of what happens.
 *
 * @param lastId Where an earlier one ended; `''` for a first one.
 */
export async function openStream(
  runId: string | undefined,
  lastId: string,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const query = runId === undefined ? '' : `?run=${encodeURIComponent(runId.toWellFormed())}`
  const headers = { accept: 'text/event-stream', ...(lastId === '' ? {} : { 'last-event-id': lastId }) }
  const { body } = await answerOf(`api/stream${query}`, { headers, signal })
  if (body === null) throw new ApiError({ code: 'no_answer', message: 'The stream is empty.' }, 0)
  return body
}

function pathOf(runId: string): string {
  return `api/runs/${encodeURIComponent(runId.toWellFormed())}`
}

function post<Answer>(path: string, body: unknown): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  return request(path, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function request<Answer>(path: string, options?: RequestInit): Promise<Answer> {
  const answer = await answerOf(path, options)
  return answer.json() as Promise<Answer>
}

/** The page does not know where it is mounted: all addresses are relative to its own. */
async function answerOf(path: string, options?: RequestInit): Promise<Response> {
  const answer = await fetch(new URL(path, document.baseURI), { cache: 'no-store', ...options }).catch(
    (thrown: unknown) => {
      throw new ApiError({ code: 'no_answer', message: String(thrown) }, 0)
    },
  )
  if (answer.ok) return answer
  const said = (await answer.json().catch(() => ({}))) as { error?: Pick<ErrorInfo, 'code' | 'message'> }
  throw new ApiError(
    said.error ?? { code: `http_${answer.status}`, message: `${answer.status} ${answer.statusText}` },
    answer.status,
  )
}
