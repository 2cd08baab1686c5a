import { fieldsOf } from './fields.ts'
import { normalizeReply, textOf } from './normalizeReply.ts'
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

/** What one entry of `tool_calls` in a chunk says. */
interface CallEntry {
  readonly index: number | undefined
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** Collects the chunks of a streamed chat completion into the reply that they spell. */
export class ReplyAccumulator {
  #text = ''
  #finish: unknown
  #usage: unknown
  #model: unknown
  readonly #calls: OpenCall[] = []
  readonly #extras: Record<string, unknown> = {}
  #chunks = 0

  /** Takes one parsed chunk. Never throws for what a provider sent. */
  add(chunk: unknown): Delta {
    this.#chunks++
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

  /** Whether nothing has come. */
  get isEmpty(): boolean {
    return this.#chunks === 0
  }

  /**
   * Whether the stream ended in the middle of a call: without a finish reason, and with arguments that are blank or
   * not whole. A call without arguments looks the same, but running half a call is worse than asking again.
   */
  get endsWithinCall(): boolean {
    const last = this.#calls.at(-1)
    return this.#finish === undefined && last !== undefined && !isWhole(last.arguments)
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

  #addCall(raw: Readonly<Record<string, unknown>>): void {
    const fn = fieldsOf(raw.function)
    const entry: CallEntry = {
      index: typeof raw.index === 'number' ? raw.index : undefined,
      id: typeof raw.id === 'string' ? raw.id : '',
      name: typeof fn.name === 'string' ? fn.name : '',
      arguments: argumentsPiece(fn.arguments),
    }
    const call = this.#continuedBy(entry) ?? this.#open(entry)
    if (call.id === '') call.id = entry.id
    // Names come whole, in pieces, or whole again with every chunk.
    if (entry.name !== call.name) call.name += entry.name
    call.arguments += entry.arguments
  }

  /** The call that an entry goes on with: by its id, else by its index, else the last one. */
  #continuedBy(entry: CallEntry): OpenCall | undefined {
    const known = entry.id === '' ? undefined : this.#calls.findLast(({ id }) => id === entry.id)
    if (known !== undefined) return known
    if (entry.index === undefined && entry.id !== '') return undefined
    const candidate =
      entry.index === undefined
        ? this.#calls.at(-1)
        : this.#calls.findLast(({ index }) => index === entry.index)
    if (candidate === undefined) return undefined
    // Some servers give every call the same index: a new id opens a new call, and so does a whole new call.
    const hasOtherId = entry.id !== '' && candidate.id !== ''
    return hasOtherId || isAnotherCall(entry, candidate) ? undefined : candidate
  }

  #open({ index, id }: CallEntry): OpenCall {
    const call: OpenCall = { id, index, name: '', arguments: '' }
    this.#calls.push(call)
    return call
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

/** An entry with a name and arguments of its own, behind a call whose arguments are whole already. */
function isAnotherCall(entry: CallEntry, { name, arguments: args }: OpenCall): boolean {
  return name !== '' && entry.name !== '' && entry.arguments !== '' && isWhole(args)
}

function isWhole(json: string): boolean {
  try {
    JSON.parse(json)
    return true
  } catch {
    return false
  }
}

function argumentsPiece(args: unknown): string {
  if (typeof args === 'string') return args
  return args === undefined || args === null ? '' : JSON.stringify(args)
}
