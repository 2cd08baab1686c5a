import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { InspectHandler } from './inspectHandler.ts'

/** What Node's `http` calls for each request; Express and Connect call it the same way. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * The handler for servers on `node:http`: Express, Connect, Fastify's raw request. The path is the one that the request
 * was sent to, whatever a router has cut off of it; a body that was parsed already is taken as it was parsed.
 */
export function nodeListener({ fetch }: Pick<InspectHandler, 'fetch'>): NodeListener {
  return (request, response) => {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    fetch(requestOf(request, gone.signal))
      .then((answer) => send(answer, response))
      // Whoever asked is gone.
      .catch(() => response.destroy())
  }
}

/** What Express and others leave on a request. */
interface Routed {
  readonly originalUrl?: string
  readonly body?: unknown
}

function requestOf(message: IncomingMessage & Routed, signal: AbortSignal): Request {
  const { method = 'GET', url = '/', originalUrl = url, headers } = message
  const body = method === 'GET' || method === 'HEAD' ? undefined : bodyOf(message)
  const init: RequestInit = { method, headers: headersOf(headers), signal }
  const parts = body === undefined ? {} : { body, duplex: 'half' as const }
  return new Request(urlOf(originalUrl, headers.host), { ...init, ...parts })
}

/** A host that is none leads nowhere: who checks hosts is told of it by the header. */
function urlOf(path: string, host: string | undefined): URL {
  const base = `http://${host ?? ''}`
  const origin = URL.canParse(base) ? new URL(base).origin : 'http://unknown.invalid'
  // A path may begin with two slashes, which would name another host.
  return new URL(`${origin}${path.startsWith('/') ? path : '/'}`)
}

function bodyOf(message: IncomingMessage & Routed): BodySource {
  const { body } = message
  if (body === undefined) return Readable.toWeb(message) as BodySource
  return typeof body === 'string' ? body : JSON.stringify(body)
}

type BodySource = NonNullable<RequestInit['body']>

function headersOf(headers: IncomingMessage['headers']): Headers {
  const copy = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value].flat()) if (one !== undefined && !name.startsWith(':')) copy.append(name, one)
  }
  return copy
}

async function send(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  const { body } = answer
  if (body === null) {
    response.end()
    return
  }
  response.flushHeaders()
  await pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), response)
}
