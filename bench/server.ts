import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chunksOf, completionOf } from './replies.ts'

/**
 * A process of its own that answers chat completions as fast as it can. The path says what a client wants, so that
 * no body is read: `/http/200/someone/chat/completions` is the next call of someone's runs of 200 steps.
 *
 * It tells its port to the process that forked it, answers a path with the number of calls served on it, and ends
 * with that process.
 */

interface Line {
  readonly replies: readonly (readonly Buffer[])[]
  readonly contentType: string
  served: number
}

const lines = new Map<string, Line>()

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  request.resume()
  request.once('end', () => {
    const line = lineOf(request.url ?? '')
    const reply = line.replies[line.served++ % line.replies.length] ?? []
    const [only, ...more] = reply
    if (more.length === 0) {
      response.writeHead(200, { 'content-type': line.contentType, 'content-length': only?.length ?? 0 })
    } else {
      response.writeHead(200, { 'content-type': line.contentType })
    }
    for (const part of reply) response.write(part)
    response.end()
  })
})

process.on('message', (path) => process.send?.(lines.get(`${path}/chat/completions`)?.served ?? 0))
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))

function lineOf(url: string): Line {
  const known = lines.get(url)
  if (known !== undefined) return known
  const [, kind, steps] = url.split('/')
  const line = kind === 'streaming' ? streamed(Number(steps)) : complete(Number(steps))
  lines.set(url, line)
  return line
}

function complete(steps: number): Line {
  const replies = positions(steps).map((at) => [Buffer.from(JSON.stringify(completionOf(at, steps)))])
  return { replies, contentType: 'application/json', served: 0 }
}

function streamed(steps: number): Line {
  const replies = positions(steps).map((at) =>
    [...chunksOf(at, steps).map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) =>
      Buffer.from(`data: ${data}\n\n`),
    ),
  )
  return { replies, contentType: 'text/event-stream; charset=utf-8', served: 0 }
}

function positions(steps: number): readonly number[] {
  return Array.from({ length: steps }, (_, position) => position)
}
