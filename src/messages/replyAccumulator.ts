import { fieldsOf, normalizeReply, textOf } from './normalizeReply.ts'
import type { ModelReply } from './reply.ts'

/** What one chunk of a streamed completion added. */
export interface Delta {
  /** Visible text. */
  readonly text: string
}

interface OpenCall {
  id: string
  index: number | undefined
  name: string
  arguments: string
}

/** Collects the chunks of a streamed chat completion into the reply that they spell. */
export class ReplyAccumulator {
  #text = ''
  #finish: unknown
  #usage: unknown
  #model: unknown
  readonly #calls: OpenCall[] = []
  readonly #extras: Record<string, unknown> = {}

  /** Takes one parsed chunk. Never throws for what a provider sent. */
  add(chunk: unknown): Delta {
    const body = fieldsOf(chunk)
    // Some servers repeat the running total in every chunk: the last one counts, they are never summed.
    if (body.usage !== undefined && body.usage !== null) this.#usage = body.usage
    this.#model ??= body.model
    const choice = fieldsOf(Array.isArray(body.choices) ? body.choices[0] : undefined)
    if (choice.finish_reason !== undefined && choice.finish_reason !== null) {
      this.#finish = choice.finish_reason
    }
    const { content, tool_calls: calls, role: _role, ...extras } = fieldsOf(choice.delta)
    for (const entry of Array.isArray(calls) ? calls : []) this.#addCall(fieldsOf(entry))
    this.#addExtras(extras)
    const text = textOf(content)
    this.#text += text
    return { text }
  }

  reply(): ModelReply {
    return normalizeReply({
      model: this.#model,
      usage: this.#usage,
      choices: [
        {
          finish_reason: this.#finish,
          message: {
            ...this.#extras,
            content: this.#text,
            tool_calls: this.#calls.map(({ id, name, arguments: args }) => ({
              id,
              type: 'function',
              function: { name, arguments: args },
            })),
          },
        },
      ],
    })
  }

  #addCall(entry: Readonly<Record<string, unknown>>): void {
    const index = typeof entry.index === 'number' ? entry.index : undefined
    const id = typeof entry.id === 'string' ? entry.id : ''
    const fn = fieldsOf(entry.function)
    const name = typeof fn.name === 'string' ? fn.name : ''
    const args = fn.arguments
    const call = this.#openCall(index, id)
    // Names come whole, in pieces, or whole again with every chunk.
    if (name !== call.name) call.name += name
    if (typeof args === 'string') call.arguments += args
    else if (args !== undefined && args !== null) call.arguments = JSON.stringify(args)
  }

  /** The call that an entry continues. A new id on a used index opens a new call; a missing index goes by id. */
  #openCall(index: number | undefined, id: string): OpenCall {
    const known = id === '' ? undefined : this.#calls.findLast((call) => call.id === id)
    const continued =
      known ??
      (index === undefined
        ? id === ''
          ? this.#calls.at(-1)
          : undefined
        : this.#calls.findLast((call) => call.index === index && (id === '' || call.id === '')))
    if (continued !== undefined) {
      if (continued.id === '') continued.id = id
      return continued
    }
    const opened: OpenCall = { id, index, name: '', arguments: '' }
    this.#calls.push(opened)
    return opened
  }

  /** Provider fields: pieces of text are joined, anything else is replaced by its newest value. */
  #addExtras(extras: Readonly<Record<string, unknown>>): void {
    for (const [field, value] of Object.entries(extras)) {
      if (value === null || value === undefined) continue
      const before = this.#extras[field]
      this.#extras[field] = typeof before === 'string' && typeof value === 'string' ? before + value : value
    }
  }
}
