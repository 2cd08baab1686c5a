import { headOf } from '../messages/plainCut.ts'
import { hiddenBy, type PlainList, type PlainRecord, type PlainShape, plainShape } from './plainShape.ts'

/** Levels of objects in objects that are shown. */
const MAX_DEPTH = 100

/** Turning a number into text takes longer than linear time in its digits. */
const LARGEST_SHOWN = 10n ** 1000n

/**
 * The value as `JSON.stringify` can write it: a tree of about as many characters as are given. Never throws. What is
 * too deep, too much, a cycle or hostile is replaced by a text in brackets that says so.
 */
export function plainForm(value: unknown, characters: number): unknown {
  return new PlainForm(characters).of(value)
}

const BRACKETS = 2
const QUOTES = 2

class PlainForm {
  /** Characters that may still be written. */
  #left: number
  readonly #ancestors = new Set<object>()

  constructor(characters: number) {
    this.#left = characters
  }

  of(value: unknown): unknown {
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'number':
        return Number.isFinite(value) ? this.#literal(value) : this.#note(String(value))
      case 'bigint':
        return this.#note(digitsOf(value))
      case 'symbol':
        return this.#text(String(value))
      case 'function':
        return this.#note('(a function)')
      case 'object':
        return value === null ? this.#literal(value) : this.#object(value)
      default:
        return this.#literal(value)
    }
  }

  #object(value: object): unknown {
    if (this.#ancestors.has(value)) return this.#note('(cycle)')
    if (this.#ancestors.size >= MAX_DEPTH) return this.#note(`(more than ${MAX_DEPTH} levels deep)`)
    this.#ancestors.add(value)
    try {
      return this.#shape(plainShape(value))
    } catch (thrown) {
      return this.#note(hiddenBy(thrown))
    } finally {
      this.#ancestors.delete(value)
    }
  }

  #shape(shape: PlainShape): unknown {
    if ('value' in shape) return this.of(shape.value)
    this.#charge(BRACKETS)
    return 'items' in shape ? this.#list(shape) : this.#record(shape)
  }

  #list({ items, count }: PlainList): readonly unknown[] {
    const list: unknown[] = []
    for (const item of items) {
      if (this.#left <= 0) return [...list, leftOut(count - list.length)]
      list.push(this.of(item))
    }
    return list
  }

  /** An object where all keys are texts, else a list of pairs. */
  #record({ entries, count }: PlainRecord): unknown {
    const pairs: [unknown, unknown][] = []
    let isObject = true
    for (const [key, value] of entries) {
      if (this.#left <= 0) {
        pairs.push(['…', leftOut(count - pairs.length)])
        break
      }
      isObject &&= typeof key === 'string'
      pairs.push([this.of(key), this.of(value)])
    }
    return isObject ? objectOf(pairs) : pairs
  }

  #text(text: string): string {
    const left = Math.max(0, this.#left)
    if (text.length <= left) return this.#note(text.toWellFormed())
    const head = headOf(text, left)
    return this.#note(`${head.toWellFormed()}… (${text.length - head.length} more characters left out)`)
  }

  /** A short text of our own: it is never cut. */
  #note(text: string): string {
    this.#charge(text.length + QUOTES)
    return text
  }

  #literal<Value>(value: Value): Value {
    this.#charge(String(value).length)
    return value
  }

  /** With the comma or colon behind it. */
  #charge(characters: number): void {
    this.#left -= characters + 1
  }
}

/** Without a prototype, so that a key named `__proto__` is one like others. */
function objectOf(pairs: readonly [unknown, unknown][]): object {
  const object: Record<string, unknown> = Object.create(null)
  for (const [key, value] of pairs) object[String(key)] = value
  return object
}

function digitsOf(value: bigint): string {
  const isShown = value < LARGEST_SHOWN && value > -LARGEST_SHOWN
  return isShown ? String(value) : '(a whole number of more than 1000 digits)'
}

function leftOut(count: number): string {
  return count > 0 ? `(${count} more left out)` : '(more left out)'
}
