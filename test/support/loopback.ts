import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders
  readonly body: Record<string, unknown>
}

/** What the server does with one request. */
export type Answer = (response: ServerResponse, request: ReceivedRequest) => void

export interface Loopback extends AsyncDisposable {
  readonly baseURL: string
  readonly requests: readonly ReceivedRequest[]
}

/** A real HTTP server on loopback that answers one request after the other as told, and may misbehave. */
export async function loopback(answers: readonly Answer[]): Promise<Loopback> {
  const requests: ReceivedRequest[] = []
  const server = createServer((incoming, response) => {
    let text = ''
    incoming.setEncoding('utf8')
    incoming.on('data', (piece: string) => {
      text += piece
    })
    incoming.on('end', () => {
      const request = { headers: incoming.headers, body: JSON.parse(text || '{}') as Record<string, unknown> }
      const answer = answers[requests.length]
      requests.push(request)
      if (answer === undefined)
        json({ error: { message: 'no answer is left in the script' } }, 500)(response, request)
      else answer(response, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Answers with a JSON body. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  }
}

/** Answers with a chat completion around this message. */
export function completion(message: Record<string, unknown>, rest: Record<string, unknown> = {}): Answer {
  return json({
    id: 'x',
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    ...rest,
  })
}

/** Answers with an event stream of these chunks. */
export function sse(chunks: readonly unknown[], { done = true }: { done?: boolean } = {}): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    response.end(done ? 'data: [DONE]\n\n' : undefined)
  }
}

/** Begins an event stream with this event and leaves it open. `closed` resolves when the client hangs up. */
export function stalledAfter(event: unknown): { readonly answer: Answer; readonly closed: Promise<void> } {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const answer: Answer = (response) => {
    response.on('close', resolve)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
  return { answer, closed }
}

/** A chunk of a stream whose one choice has this delta. */
export function chunk(delta: Record<string, unknown>, finish: string | null = null): Record<string, unknown> {
  return {
    id: 'x',
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  }
}
