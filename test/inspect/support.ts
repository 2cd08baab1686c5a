import type { AgentEvent } from '../../src/index.ts'
import type { InspectHandler } from '../../src/inspect/index.ts'
import type { EventsPage, RunRow, RunsPage, StreamMessage } from '../../src/inspect/protocol.ts'

const ORIGIN = 'http://app.test'

export interface Answer<Body> {
  readonly status: number
  readonly headers: Headers
  readonly body: Body
}

interface TestPage {
  ask<Body>(path: string, init?: RequestInit): Promise<Answer<Body>>
  get<Body>(path: string): Promise<Answer<Body>>
  post(path: string, body?: unknown): Promise<Answer<ActAnswer>>
  rows(query?: string): Promise<readonly RunRow[]>
  row(runId: string): Promise<RunRow>
  events(runId: string): Promise<readonly AgentEvent[]>
  stream(query?: string, headers?: Record<string, string>): Promise<MessageStream>
}

interface ActAnswer {
  readonly ok?: boolean
  readonly runId?: string
  readonly error?: { readonly code: string; readonly message: string }
}

/** What a page says to the handler, below its base path. */
export function pageOf({ fetch }: Pick<InspectHandler, 'fetch'>, basePath = ''): TestPage {
  const url = (path: string): string => `${ORIGIN}${basePath}/${path}`
  async function ask<Body>(path: string, init?: RequestInit): Promise<Answer<Body>> {
    const answer = await fetch(new Request(url(path), init))
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
    return {
      status: answer.status,
      headers: answer.headers,
      body: (isJson ? JSON.parse(text) : text) as Body,
    }
  }
  return {
    ask,
    get: (path) => ask(path),
    post: (path, body = {}) =>
      ask<ActAnswer>(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: ORIGIN },
        body: JSON.stringify(body),
      }),
    rows: async (query = ''): Promise<readonly RunRow[]> =>
      (await ask<RunsPage>(`api/runs${query}`)).body.runs,
    row: async (runId: string): Promise<RunRow> =>
      (await ask<RunRow>(`api/runs/${encodeURIComponent(runId)}`)).body,
    /** All events of a run, page by page. */
    async events(runId: string): Promise<readonly AgentEvent[]> {
      const events: AgentEvent[] = []
      let from = 0
      for (;;) {
        const path = `api/runs/${encodeURIComponent(runId)}/events?from=${from}`
        const { body } = await ask<EventsPage>(path)
        events.push(...body.events.map(({ event }) => event))
        if (!body.hasMore) return events
        from = body.next
      }
    },
    async stream(query = '', headers: Record<string, string> = {}): Promise<MessageStream> {
      const { body } = await fetch(new Request(url(`api/stream${query}`), { headers }))
      if (body === null) throw new Error('there is no stream')
      return new MessageStream(body)
    },
  }
}

/** The messages of a stream, as they come. */
export class MessageStream {
  readonly #reader: ReadableStreamDefaultReader<string>
  #rest = ''
  #waiting: StreamMessage[] = []
  lastId = ''

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body
      .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
      .getReader()
  }

  /** The next message; undefined after the last one. */
  async next(): Promise<StreamMessage | undefined> {
    for (;;) {
      const message = this.#waiting.shift()
      if (message !== undefined) return message
      const { done, value } = await this.#reader.read()
      if (done) return undefined
      const blocks = (this.#rest + value).split('\n\n')
      this.#rest = blocks.pop() ?? ''
      for (const block of blocks) this.#take(block)
    }
  }

  /** The next message of which this holds. */
  async until(holds: (message: StreamMessage) => boolean): Promise<StreamMessage> {
    for (;;) {
      const message = await this.next()
      if (message === undefined) throw new Error('the stream ended before')
      if (holds(message)) return message
    }
  }

  /** The types of the events up to one of this type. */
  async eventsUntil(type: AgentEvent['type']): Promise<readonly AgentEvent['type'][]> {
    const types: AgentEvent['type'][] = []
    await this.until((message) => {
      if (message.type === 'event') types.push(message.event.event.type)
      return message.type === 'event' && message.event.event.type === type
    })
    return types
  }

  leave(): Promise<void> {
    return this.#reader.cancel()
  }

  #take(block: string): void {
    for (const line of block.split('\n')) {
      if (line.startsWith('id: ')) this.lastId = line.slice(4)
      if (line.startsWith('data: ')) this.#waiting.push(JSON.parse(line.slice(6)) as StreamMessage)
    }
  }
}
