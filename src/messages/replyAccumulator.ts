import { fieldsOf } from './fields.ts'
import { normalizeReply, textOf, withoutNulls } from './normalizeReply.ts'
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
  /** Fields that only this provider knows. */
  readonly extras: Record<string, unknown>
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
  #choices = 0

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
    if (choice.delta !== undefined || choice.message !== undefined) this.#choices++
    // A server that does not stream sends the whole message in one piece.
    const {
      content,
      tool_calls: calls,
      function_call: legacy,
      role: _role,
      ...extras
    } = fieldsOf(choice.delta ?? choice.message)
    if (legacy !== undefined && legacy !== null) this.#addCall({ index: 0, function: legacy })
    for (const entry of Array.isArray(calls) ? calls : []) this.#addCall(fieldsOf(entry))
    this.#addExtras(extras)
    const text = textOf(content)
    this.#text += text
    return { text }
  }

  /** Whether no part of a reply has come. */
  get isEmpty(): boolean {
    return this.#choices === 0
  }

  /**
   * Whether the stream ended in the middle of a call: without a finish reason or usage, which come last, and with
   * arguments that are blank or not whole. A call without arguments looks the same, but running half a call is worse than asking again.
   */
  get endsWithinCall(): boolean {
    const last = this.#calls.at(-1)
    return (
      this.#finish === undefined &&
      this.#usage === undefined &&
      last !== undefined &&
      !isWhole(last.arguments)
    )
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
            tool_calls: this.#calls.map(({ id, name, arguments: args, extras }) => ({
              ...extras,
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
    const { index, id, type: _type, function: rawFunction, ...extras } = raw
    const fn = fieldsOf(rawFunction)
    const entry: CallEntry = {
      index: typeof index === 'number' ? index : undefined,
      id: typeof id === 'string' ? id : '',
      name: typeof fn.name === 'string' ? fn.name : '',
      arguments: argumentsPiece(fn.arguments),
    }
    const call = this.#continuedBy(entry) ?? this.#open(entry)
    if (call.id === '') call.id = entry.id
    Object.assign(call.extras, withoutNulls(extras))
    // Names come whole, in pieces, or again and again, each time as long as they are by then.
    call.name = entry.name.startsWith(call.name) ? entry.name : call.name + entry.name
    const isAgain =
      call.arguments !== '' && entry.arguments.startsWith(call.arguments) && isWhole(entry.arguments)
    call.arguments = isAgain ? entry.arguments : call.arguments + entry.arguments
  }

  /** The call that an entry goes on with: by its id and index, as far as it has them, else the last one. */
  #continuedBy({ index, id, name, arguments: args }: CallEntry): OpenCall | undefined {
    const isAtIndex = (call: OpenCall): boolean =>
      index === undefined || call.index === undefined || call.index === index
    const known = id === '' ? undefined : this.#calls.findLast((call) => call.id === id && isAtIndex(call))
    if (known !== undefined) return known
    if (index === undefined && id !== '') return undefined
    const candidate =
      index === undefined ? this.#calls.at(-1) : this.#calls.findLast((call) => call.index === index)
    // Without a name nothing begins, whatever id it comes with.
    if (candidate === undefined || name === '') return candidate
    // Some servers give every call the same index: a new id opens a new call, and so does a whole new call.
    const hasOtherId = id !== '' && candidate.id !== ''
    const isAnother = candidate.name !== '' && args !== '' && isWhole(candidate.arguments)
    return hasOtherId || isAnother ? undefined : candidate
  }

  #open({ index, id }: CallEntry): OpenCall {
    const call: OpenCall = { id, index, name: '', arguments: '', extras: {} }
    this.#calls.push(call)
    return call
  }

  /** Provider fields: pieces of text and lists are joined, anything else is replaced by its newest value. */
  #addExtras(extras: Readonly<Record<string, unknown>>): void {
    for (const [field, value] of Object.entries(withoutNulls(extras))) {
      this.#extras[field] = joined(this.#extras[field], value)
    }
  }
}

function isWhole(json: string): boolean {
  // Only what ends like an object is worth the parsing, which would be quadratic over many pieces.
  if (!json.trimEnd().endsWith('}')) return false
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

function joined(before: unknown, value: unknown): unknown {
  if (typeof before === 'string' && typeof value === 'string') return before + value
  if (Array.isArray(before) && Array.isArray(value)) return value.reduce(addEntry, before)
  return value
}

/** An entry of a list with the index of an earlier one goes on with it, as `reasoning_details` do. */
function addEntry(list: readonly unknown[], entry: unknown): readonly unknown[] {
  const { index } = fieldsOf(entry)
  const at = typeof index === 'number' ? list.findIndex((known) => fieldsOf(known).index === index) : -1
  if (at < 0) return [...list, entry]
  const merged: Record<string, unknown> = { ...fieldsOf(list[at]) }
  for (const [field, value] of Object.entries(fieldsOf(entry))) {
    merged[field] = continues(field) ? joined(merged[field], value) : value
  }
  return list.with(at, merged)
}

/** Fields of an entry that come in pieces; others, such as its type, are said again. */
function continues(field: string): boolean {
  return field === 'text' || field === 'summary' || field === 'data'
}
