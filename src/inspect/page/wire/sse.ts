export interface ServerSentEvent {
  readonly data: string
  /** Where to go on after a break; as in the event before where the server says nothing new. */
  readonly id: string
}

/**
 * Reads a stream of server-sent events piece by piece, as https://html.spec.whatwg.org/multipage/server-sent-events.html
 * has it, without event types and retry times. (The browser's own EventSource gives up after an answer with an error and
 * cannot say `Last-Event-ID` when it is made anew.)
 */
export class SseReader {
  #rest = ''
  #data: string[] = []
  #id: string

  /** @param id Where an earlier stream ended. */
  constructor(id = '') {
    this.#id = id
  }

  /** The events that a piece of text completes. */
  read(piece: string): readonly ServerSentEvent[] {
    const text = this.#rest + piece
    // A line feed may still follow a carriage return at the end.
    const whole = text.endsWith('\r') ? text.slice(0, -1) : text
    const lines = whole.split(/\r\n|\n|\r/)
    this.#rest = `${lines.pop() ?? ''}${text.slice(whole.length)}`
    return lines.flatMap((line) => this.#take(line))
  }

  #take(line: string): readonly ServerSentEvent[] {
    if (line === '') {
      if (this.#data.length === 0) return []
      const event = { data: this.#data.join('\n'), id: this.#id }
      this.#data = []
      return [event]
    }
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') this.#data.push(value)
    else if (field === 'id') this.#id = value
    return []
  }
}
