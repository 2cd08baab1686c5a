import { runStatuses } from '../journal/runQuery.ts'
import type { Decision } from '../machines/reducers.ts'
import type { UserMessage } from '../messages/types.ts'
import { VERSION } from '../version.ts'
import { Acts } from './acts.ts'
import { answer, jsonAnswer, jsonTextAnswer, RequestError } from './answers.ts'
import { chartDrawing } from './chart.ts'
import { eventSource } from './eventSource.ts'
import { type Hub, placeOf } from './hub.ts'
import type { Poll } from './poll.ts'
import type { About, ForkRequest, RunRow } from './protocol.ts'
import { bodyOf } from './requestBody.ts'
import { eventText, pageText } from './timeline.ts'

/** Runs of one page of the list. */
const DEFAULT_ROWS = 50
const MOST_ROWS = 200

/** Streams at once: each browser tab has one. */
const MOST_STREAMS = 100

/** Answers what the page asks for; see protocol.ts. */
export class Api {
  readonly #hub: Hub
  readonly #poll: Poll
  readonly #mayAct: boolean
  readonly #acts: Acts
  #streams = 0

  constructor(hub: Hub, poll: Poll, mayAct: boolean) {
    this.#hub = hub
    this.#poll = poll
    this.#mayAct = mayAct
    this.#acts = new Acts(hub)
  }

  /** @param path Below `api/`. */
  async answer(request: Request, path: string): Promise<Response> {
    const { searchParams } = new URL(request.url)
    const [what, encodedId, more, index, ...rest] = path.split('/')
    if (rest.length > 0) throw nothingAt(path)
    if (what === 'runs' && encodedId !== undefined) {
      const runId = decoded(encodedId)
      if (more === undefined) return this.#get(request, () => this.#run(runId))
      if (more === 'events' && index !== undefined) return this.#get(request, () => this.#event(runId, index))
      if (index !== undefined) throw nothingAt(path)
      if (more === 'events') return this.#get(request, () => this.#events(runId, searchParams))
      return this.#act(request, runId, more)
    }
    if (encodedId !== undefined) throw nothingAt(path)
    switch (what) {
      case 'about':
        return this.#get(request, async () => jsonAnswer(this.#about()))
      case 'chart':
        return this.#get(request, async () => jsonAnswer(chartDrawing()))
      case 'runs':
        return this.#get(request, () => this.#runs(searchParams))
      case 'stream':
        return this.#get(request, async () => this.#stream(request, searchParams))
      default:
        throw nothingAt(path)
    }
  }

  #get(request: Request, answerIt: () => Promise<Response>): Promise<Response> {
    if (request.method !== 'GET') throw new RequestError(405, 'wrong_method', 'This is asked for with GET.')
    return answerIt()
  }

  #about(): About {
    const { agents, instance } = this.#hub
    const [only, ...others] = agents
    const name = others.length === 0 ? only?.options.name : undefined
    const contextWindow = others.length === 0 ? only?.options.model.contextWindow : undefined
    return {
      version: VERSION,
      instance,
      ...(name === undefined ? {} : { agent: name }),
      canAct: this.#mayAct && agents.length > 0,
      isKept: this.#hub.journals.length > 0,
      ...(contextWindow === undefined ? {} : { contextWindow }),
    }
  }

  async #runs(query: URLSearchParams): Promise<Response> {
    const status = query.get('status') ?? undefined
    const known = runStatuses.find((name) => name === status)
    if (status !== undefined && known === undefined) {
      throw badRequest(`status is one of ${runStatuses.join(', ')}, not "${status}".`)
    }
    const cursor = query.get('before')
    const before = cursor === null ? undefined : placeOf(cursor)
    if (cursor !== null && before === undefined)
      throw badRequest('before is what the page before gave as next.')
    const limit = Math.min(wholeNumber(query, 'limit') ?? DEFAULT_ROWS, MOST_ROWS)
    if (limit < 1) throw badRequest('limit is at least 1.')
    const search = query.get('search')?.trim() || undefined
    return jsonAnswer(await this.#hub.rows({ status: known, search, limit, before }))
  }

  async #run(runId: string): Promise<Response> {
    const row = await this.#hub.row(runId)
    if (row === undefined) throw noRun(runId)
    const problem = row.problem ?? (await this.#hub.problemOf(runId))
    return jsonAnswer({ ...row, ...(problem === undefined ? {} : { problem }) } satisfies RunRow)
  }

  async #events(runId: string, query: URLSearchParams): Promise<Response> {
    const timeline = await this.#hub.timeline(runId)
    if (timeline === undefined) throw noRun(runId)
    return jsonTextAnswer(pageText(timeline, wholeNumber(query, 'from') ?? 0))
  }

  async #event(runId: string, index: string): Promise<Response> {
    const timeline = await this.#hub.timeline(runId)
    const number = /^\d{1,15}$/.test(index) ? Number(index) : undefined
    if (timeline === undefined || number === undefined || timeline.at(number) === undefined)
      throw noRun(runId)
    return jsonTextAnswer(eventText(timeline, number, true))
  }

  #stream(request: Request, query: URLSearchParams): Response {
    if (this.#streams >= MOST_STREAMS) {
      throw new RequestError(503, 'too_many_streams', `There are ${MOST_STREAMS} streams already.`)
    }
    const runId = query.get('run') ?? undefined
    const unfollow = runId === undefined ? undefined : this.#poll.follow(runId)
    this.#streams++
    const body = eventSource(this.#hub, {
      runId,
      from: wholeNumber(query, 'from'),
      lastEventId: request.headers.get('last-event-id') ?? undefined,
      signal: request.signal,
      closed: () => {
        this.#streams--
        unfollow?.()
      },
    })
    this.#poll.start()
    // A proxy that gathers what it passes on would keep the page waiting.
    return answer(body, { type: 'text/event-stream; charset=utf-8', headers: { 'x-accel-buffering': 'no' } })
  }

  async #act(request: Request, runId: string, act: string): Promise<Response> {
    if (!isAct(act)) throw nothingAt(act)
    if (request.method !== 'POST') throw new RequestError(405, 'wrong_method', 'This is done with POST.')
    if (!this.#mayAct || this.#hub.agents.length === 0) {
      throw new RequestError(403, 'read_only', 'This inspector shows runs and does not act on them.')
    }
    const body = await bodyOf(request)
    switch (act) {
      case 'decisions':
        await this.#acts.decide(runId, decisionsIn(body))
        break
      case 'messages':
        await this.#acts.send(runId, body.message as string | UserMessage)
        break
      case 'cancel':
        if (body.message !== undefined && typeof body.message !== 'string')
          throw badRequest('message is a text.')
        await this.#acts.cancel(runId, body.message)
        break
      case 'resume':
        await this.#acts.resume(runId)
        break
      case 'fork':
        return jsonAnswer({ runId: await this.#acts.fork(runId, body as unknown as ForkRequest) })
    }
    return jsonAnswer({ ok: true })
  }
}

/** Without a decision a run would be resumed, which is another word. */
function decisionsIn({ decisions }: Readonly<Record<string, unknown>>): readonly Decision[] {
  if (Array.isArray(decisions) && decisions.length > 0) return decisions as readonly Decision[]
  throw badRequest('decisions is an array of { callId, approved } with at least one of them.')
}

const ACTS = ['decisions', 'messages', 'cancel', 'resume', 'fork'] as const

function isAct(name: string): name is (typeof ACTS)[number] {
  return ACTS.some((act) => act === name)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw badRequest('The id of the run is not written as a part of a URL.')
  }
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw badRequest(`${name} is a whole number, not "${text}".`)
}

function badRequest(message: string): RequestError {
  return new RequestError(400, 'bad_request', message)
}

function noRun(runId: string): RequestError {
  return new RequestError(404, 'run_not_found', `There is no run with the id "${runId}".`)
}

function nothingAt(path: string): RequestError {
  return new RequestError(404, 'not_found', `There is nothing at api/${path}.`)
}
