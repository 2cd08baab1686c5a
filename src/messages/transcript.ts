import type { Message } from './types.ts'

/** What a message counts. Pure. */
type Measure = (message: Message) => number

/** The messages of one line of history, shared by all transcripts that are prefixes of it. */
class Log {
  readonly messages: Message[] = []
  /** Where each tool call id first occurs. */
  readonly #callIds = new Map<string, number>()

  readonly #sums = new WeakMap<Measure, number[]>()

  push(message: Message): void {
    if (message.role === 'assistant') {
      for (const call of message.tool_calls ?? []) {
        if (!this.#callIds.has(call.id)) this.#callIds.set(call.id, this.messages.length)
      }
    }
    this.messages.push(message)
  }

  /** Sums of a measure over the first n messages, by n; extended when they are asked for. */
  sum(measure: Measure, length: number): number {
    const sums = this.#sums.get(measure) ?? [0]
    this.#sums.set(measure, sums)
    for (let n = sums.length; n <= length; n++) {
      sums.push((sums[n - 1] as number) + measure(this.messages[n - 1] as Message))
    }
    return sums[length] as number
  }

  indexOfCall(id: string): number {
    return this.#callIds.get(id) ?? Number.POSITIVE_INFINITY
  }
}

/**
 * An append-only list of messages that is cheap to extend and safe to keep.
 *
 * A transcript is a prefix of a shared log: appending to the newest prefix pushes onto the log, so a step costs
 * what is new in it, and earlier transcripts still see exactly their own messages. Appending to an older prefix
 * (a fork, a step taken back) copies that prefix first, so that two futures never share a log.
 */
export class Transcript {
  readonly length: number
  readonly #log: Log

  private constructor(log: Log, length: number) {
    this.#log = log
    this.length = length
  }

  static of(messages: readonly Message[]): Transcript {
    return new Transcript(new Log(), 0).append(messages)
  }

  append(messages: readonly Message[]): Transcript {
    if (messages.length === 0) return this
    const log = this.#log.messages.length === this.length ? this.#log : this.#copy()
    for (const message of messages) log.push(message)
    return new Transcript(log, log.messages.length)
  }

  /** The transcript as it was when it had this many messages. */
  prefix(length: number): Transcript {
    return new Transcript(this.#log, Math.max(0, Math.min(length, this.length)))
  }

  at(index: number): Message | undefined {
    return index < 0 || index >= this.length ? undefined : this.#log.messages[index]
  }

  /** A measure added up over all messages. Each is measured once, however often the sum is asked for. */
  sum(measure: Measure): number {
    return this.#log.sum(measure, this.length)
  }

  /** Whether a tool call with this id is in the transcript. */
  hasCall(id: string): boolean {
    return this.#log.indexOfCall(id) < this.length
  }

  /** The messages from `start` on, as an array of the caller's own. */
  toArray(start = 0): Message[] {
    return this.#log.messages.slice(start, this.length)
  }

  toJSON(): Message[] {
    return this.toArray()
  }

  #copy(): Log {
    const log = new Log()
    for (let i = 0; i < this.length; i++) log.push(this.#log.messages[i] as Message)
    return log
  }
}
