import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { MisuseError, messageOf } from '../errors.ts'
import { ApiError } from './apiError.ts'
import { chunksOf, completionOf, usageOf } from './completion.ts'
import { checkRequest } from './requestCheck.ts'
import { replyTo } from './standIn.ts'

const MAX_BODY_BYTES = 10_000_000
const DEFAULT_MODEL = 'loopchart-stand-in'

export interface OfflineEndpointOptions {
  /** Port on 127.0.0.1. Default: 0, any free one. */
  readonly port?: number
  /** The key that requests have to carry as bearer token. Default: any or none will do. */
  readonly apiKey?: string
  /** Milliseconds before a completion begins. Default: 0. */
  readonly latencyMs?: number
  /** Milliseconds before each chunk of a streamed completion but the first. Default: 0. */
  readonly chunkDelayMs?: number
  /** Ids of the models that it has; they all behave the same. Default: `loopchart-stand-in`. */
  readonly models?: readonly string[]
}

/** A running endpoint. It keeps the process alive until it is closed. */
export interface OfflineEndpoint extends AsyncDisposable {
  /** `http://127.0.0.1:PORT/v1`. */
  readonly baseURL: string
  /** A model that it has. */
  readonly model: string
  /** Completions answered so far; refused requests do not count. */
  readonly requests: number
  /** Ends open connections and stops. May be called again. */
  close(): Promise<void>
}

/**
 * Starts a local endpoint that speaks OpenAI's chat-completions protocol, streaming included, with the stand-in as its
 * model: for trying things out and for tests, with no network and no key. It refuses what a strict provider refuses.
 *
 * @throws MisuseError `invalid_option` for an empty list of models; Node's error if the port cannot be had.
 */
export async function startOfflineEndpoint(options: OfflineEndpointOptions = {}): Promise<OfflineEndpoint> {
  const { port = 0, apiKey, latencyMs = 0, chunkDelayMs = 0, models = [DEFAULT_MODEL] } = options
  const [model] = models
  if (model === undefined) throw new MisuseError('invalid_option', 'models must name at least one model.')
  const counter: Counter = { served: 0 }
  const service: Service = { apiKey, latencyMs, chunkDelayMs, models, counter, startedAt: now() }
  const server = createServer((request, response) => void serve(request, response, service))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    closed ??= stop(server)
    return closed
  }
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    model,
    get requests() {
      return counter.served
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Service extends Required<Omit<OfflineEndpointOptions, 'port' | 'apiKey'>> {
  readonly apiKey: string | undefined
  readonly counter: Counter
  /** Seconds since 1970. */
  readonly startedAt: number
}

interface Counter {
  served: number
}

type Handler = (request: IncomingMessage, response: ServerResponse, service: Service) => Promise<void> | void

const routes: ReadonlyMap<string, { readonly method: string; readonly handle: Handler }> = new Map([
  ['/v1/chat/completions', { method: 'POST', handle: complete }],
  ['/v1/models', { method: 'GET', handle: listModels }],
])

/** Answers one request. Never rejects: what goes wrong is told to the client, and nobody hears it if it is gone. */
async function serve(request: IncomingMessage, response: ServerResponse, service: Service): Promise<void> {
  try {
    await route(request, response, service)
  } catch (error) {
    const told = error instanceof ApiError ? error : internal(error)
    if (response.headersSent) response.destroy()
    else sendJson(response, told.status, told)
  }
}

async function route(request: IncomingMessage, response: ServerResponse, service: Service): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?')
  const { apiKey } = service
  if (apiKey !== undefined && request.headers.authorization !== `Bearer ${apiKey}`) {
    throw new ApiError(401, 'Incorrect API key provided.', { code: 'invalid_api_key' })
  }
  const target = routes.get(path)
  if (target === undefined) throw new ApiError(404, `Unknown request URL: ${request.method} ${path}.`)
  if (target.method !== request.method) {
    response.setHeader('allow', target.method)
    throw new ApiError(405, `Not allowed to ${request.method} on ${path}.`, { code: 'method_not_allowed' })
  }
  await target.handle(request, response, service)
}

function listModels(_request: IncomingMessage, response: ServerResponse, service: Service): void {
  sendJson(response, 200, {
    object: 'list',
    data: service.models.map((id) => ({
      id,
      object: 'model',
      created: service.startedAt,
      owned_by: 'loopchart',
    })),
  })
}

async function complete(request: IncomingMessage, response: ServerResponse, service: Service): Promise<void> {
  const { body, model, stream, includeUsage } = checkRequest(await readBody(request), service.models)
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const reply = replyTo(body)
  const usage = usageOf(body, reply)
  await pause(service.latencyMs, gone.signal)
  service.counter.served += 1
  const head = { id: `chatcmpl-offline-${service.counter.served}`, created: now(), model }
  if (!stream) return sendJson(response, 200, completionOf(head, reply, usage))
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  let first = true
  for (const chunk of chunksOf(head, reply, includeUsage ? usage : undefined)) {
    if (!first) await pause(service.chunkDelayMs, gone.signal)
    first = false
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  response.end('data: [DONE]\n\n')
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    // The rest is read and dropped: a client that is still sending would see a reset instead of the answer.
    if (size <= MAX_BODY_BYTES) pieces.push(piece)
  }
  if (size > MAX_BODY_BYTES) throw new ApiError(413, `The body is above ${MAX_BODY_BYTES} bytes.`)
  return Buffer.concat(pieces).toString('utf8')
}

/** Rejects as soon as the client is gone, which ends the request. */
async function pause(milliseconds: number, gone: AbortSignal): Promise<void> {
  if (milliseconds > 0) await wait(milliseconds, undefined, { signal: gone })
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(JSON.stringify(body))
}

function internal(error: unknown): ApiError {
  return new ApiError(500, `The stand-in failed: ${messageOf(error)}`, { type: 'server_error' })
}

async function stop(server: Server): Promise<void> {
  const closing = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closing
}

function now(): number {
  return Math.floor(Date.now() / 1000)
}
