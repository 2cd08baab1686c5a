import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { Readable } from 'node:stream'

/**
 * A `fetch` over Node's own HTTP client, for text bodies, such as the `openai` SDK sends. It costs about half of what
 * the global one does per request (`npm run bench`), and its pool is bounded: thousands of runs at once queue for a
 * socket instead of failing for want of file descriptors. What it does not know (other bodies, redirects, a proxy from
 * the environment) it leaves to the global one.
 */
export const httpFetch: typeof fetch = (input, init = {}) => {
  const { body } = init
  const isPlain =
    !(input instanceof Request) && (body === undefined || body === null || typeof body === 'string')
  return isPlain && process.env.NODE_USE_ENV_PROXY === undefined
    ? send(new URL(input), init)
    : fetch(input, init)
}

/** Sockets to one host at a time. */
const MAX_SOCKETS = 256
/** Servers close idle connections after five seconds or more; one that we close before them cannot fail a request. */
const IDLE_SOCKET_MS = 4000

const pool = { keepAlive: true, maxSockets: MAX_SOCKETS, timeout: IDLE_SOCKET_MS }
const clients = {
  'http:': { request: http.request, agent: new http.Agent(pool) },
  'https:': { request: https.request, agent: new https.Agent(pool) },
}

function send(url: URL, init: RequestInit): Promise<Response> {
  const { method = 'GET', body, signal } = init
  const client = url.protocol === 'https:' ? clients['https:'] : clients['http:']
  return new Promise((resolve, reject) => {
    const request = client.request(url, {
      agent: client.agent,
      method,
      headers: { ...Object.fromEntries(new Headers(init.headers)), 'accept-encoding': 'identity' },
      ...(signal ? { signal } : {}),
    })
    request.on('error', reject)
    request.on('response', (incoming) => {
      const { statusCode = 0 } = incoming
      if (statusCode >= 300 && statusCode < 400 && statusCode !== 304) {
        incoming.resume()
        resolve(fetch(url, init))
      } else if (isStream(incoming)) {
        resolve(responseOf(incoming, Readable.toWeb(incoming) as ReadableStream))
      } else {
        gather(incoming).then((bytes) => resolve(responseOf(incoming, bytes)), reject)
      }
    })
    request.end(body ?? undefined)
  })
}

function isStream({ headers }: IncomingMessage): boolean {
  return headers['content-type']?.startsWith('text/event-stream') === true
}

function gather(incoming: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => resolve(Buffer.concat(chunks)))
    // A connection that is cut in the middle is an error here, not an end.
    incoming.on('error', reject)
  })
}

function responseOf(
  { statusCode = 0, statusMessage = '', headers }: IncomingMessage,
  body: ConstructorParameters<typeof Response>[0],
): Response {
  const hasNoBody = statusCode === 204 || statusCode === 304
  const fields = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  )
  return new Response(hasNoBody ? null : body, {
    status: statusCode,
    statusText: statusMessage,
    headers: fields,
  })
}
