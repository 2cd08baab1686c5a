import type { StreamMessage } from '../../protocol.ts'
import { ApiError, openStream } from './api.ts'
import { backOffMs } from './backOff.ts'
import { SseReader } from './sse.ts'

export type Connection = 'connecting' | 'open' | 'lost' | 'refused'

export interface StreamOptions {
  /** The run whose events are wanted; absent for none. */
  readonly runId: string | undefined
  readonly onMessage: (message: StreamMessage) => void
  readonly onConnection: (connection: Connection) => void
}

/** Follows what happens, and begins anew where the connection ends, where it was, until it is closed. */
export class Stream {
  readonly #options: StreamOptions
  readonly #closing = new AbortController()
  #lastId = ''
  #failures = 0
  #wake: (() => void) | undefined

  constructor(options: StreamOptions) {
    this.#options = options
    void this.#follow()
  }

  close(): void {
    this.#closing.abort()
    this.#wake?.()
  }

  /** Does not wait any longer before it tries again: the network is back, or somebody looks at the page again. */
  hurry(): void {
    this.#wake?.()
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  async #follow(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#read()
        this.#report('lost')
      } catch (thrown) {
        const isRefused = thrown instanceof ApiError && (thrown.status === 401 || thrown.status === 403)
        this.#report(isRefused ? 'refused' : 'lost')
      }
      this.#failures += 1
      await this.#wait(backOffMs(this.#failures, Math.random()))
    }
  }

  async #read(): Promise<void> {
    const body = await openStream(this.#options.runId, this.#lastId, this.#closing.signal)
    const pieces = body.pipeThrough(new TextDecoderStream()).getReader()
    const events = new SseReader(this.#lastId)
    for (;;) {
      const { done, value } = await pieces.read()
      if (done || this.#isClosed) return
      for (const { data, id } of events.read(value)) {
        this.#lastId = id
        this.#failures = 0
        this.#take(JSON.parse(data) as StreamMessage)
      }
    }
  }

  #take(message: StreamMessage): void {
    if (message.type === 'hello') this.#report('open')
    if (!this.#isClosed) this.#options.onMessage(message)
  }

  #report(connection: Connection): void {
    if (!this.#isClosed) this.#options.onConnection(connection)
  }

  #wait(ms: number): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
