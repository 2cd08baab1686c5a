import type { Message, UserMessage } from '../messages/types.ts'

/**
 * What of a transcript is shown, as strategies narrow it one after the other. Immutable.
 *
 * Whatever a strategy asks for, what comes out can be sent: an exchange (an assistant message with its calls, and all
 * their results) is shown whole or not at all, the last user message is always shown as it is, and where a turn is
 * shown in part, its user message stays.
 */
export class View {
  /** All messages, in order. Positions count from here, whatever is shown. */
  readonly transcript: readonly Message[]
  /** The position from which on everything is shown: a user message, or the beginning of an exchange. */
  readonly start: number
  /** The most tokens that the request may have. */
  readonly limit: number
  /** What stands before the conversation: a summary, known facts. */
  readonly background: readonly UserMessage[]
  readonly #shortened: ReadonlyMap<number, Message>

  private constructor({ transcript, start, limit, background, shortened }: Parts) {
    this.transcript = transcript
    this.start = start
    this.limit = limit
    this.background = background
    this.#shortened = shortened
  }

  static of(transcript: readonly Message[]): View {
    return new View({
      transcript,
      start: 0,
      limit: Number.POSITIVE_INFINITY,
      background: [],
      shortened: new Map(),
    })
  }

  /**
   * The same, without what is before a position; inside an exchange, without that exchange. Never shows more. What is no
   * position, such as NaN, changes nothing.
   */
  from(position: number): View {
    const start = Math.max(this.start, this.exchangeAt(position))
    return start === this.start ? this : this.#with({ start })
  }

  /** The same, held to a number of tokens. */
  within(limit: number): View {
    return limit < this.limit ? this.#with({ limit }) : this
  }

  /** The same, with a text before the conversation. */
  withBackground(message: UserMessage): View {
    return this.#with({ background: [...this.background, message] })
  }

  withoutBackground(): View {
    return this.background.length === 0 ? this : this.#with({ background: [] })
  }

  /** The same, with other contents of some tool results, by position. What is at another position stays as it is. */
  withShortened(messages: ReadonlyMap<number, Message>): View {
    const results = [...messages].filter(([position, message]) => answersTheSame(message, this.at(position)))
    return results.length === 0 ? this : this.#with({ shortened: new Map([...this.#shortened, ...results]) })
  }

  /** Whether everything is shown as it is. */
  get isWhole(): boolean {
    return this.start === 0 && this.background.length === 0 && this.#shortened.size === 0
  }

  /** The message at a position, as it is shown. */
  at(position: number): Message | undefined {
    return this.#shortened.get(position) ?? this.transcript[position]
  }

  /** The user message before `start` that stays because its turn is shown in part; `undefined` where there is none. */
  get request(): number | undefined {
    return requestBefore(this.transcript, this.start)
  }

  /** The first position at or after the given one where an exchange or a user message begins. */
  exchangeAt(position: number): number {
    let at = Math.max(0, Math.min(Math.ceil(position), this.transcript.length)) || 0
    while (this.transcript[at]?.role === 'tool') at++
    return at
  }

  /** What is sent, in order. The transcript itself where nothing was changed. */
  toMessages(): readonly Message[] {
    if (this.isWhole) return this.transcript
    const { request } = this
    const shown: Message[] = [...this.background]
    if (request !== undefined) shown.push(this.at(request) as Message)
    for (let i = this.start; i < this.transcript.length; i++) shown.push(this.at(i) as Message)
    return shown
  }

  #with(changes: Partial<Parts>): View {
    const { transcript, start, limit, background } = this
    return new View({ transcript, start, limit, background, shortened: this.#shortened, ...changes })
  }
}

function answersTheSame(message: Message, before: Message | undefined): boolean {
  if (message.role !== 'tool' || before?.role !== 'tool') return false
  return message.tool_call_id === before.tool_call_id && typeof message.content === 'string'
}

interface Parts {
  readonly transcript: readonly Message[]
  readonly start: number
  readonly limit: number
  readonly background: readonly UserMessage[]
  readonly shortened: ReadonlyMap<number, Message>
}

/** The user message of the turn that is cut at a position; `undefined` where the cut parts no turn. */
export function requestBefore(transcript: readonly Message[], position: number): number | undefined {
  if (transcript[position]?.role === 'user') return undefined
  for (let i = position - 1; i >= 0; i--) if (transcript[i]?.role === 'user') return i
  return undefined
}
