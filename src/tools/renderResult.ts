import { messageOf } from '../errors.ts'

/** What the model is shown for a tool that returns nothing. */
export const NOTHING_RETURNED = '(the tool returned nothing)'

/**
 * The text of what a tool returned: a string stays as it is, `undefined` becomes a fixed marker, everything else
 * becomes JSON. Values that JSON does not know (big integers, cycles, maps, sets, errors) are written in a readable
 * form. Never throws.
 */
export function renderResult(value: unknown): string {
  if (typeof value === 'string') return value.toWellFormed()
  try {
    const text = JSON.stringify(value, plainForm())
    return text === undefined ? describeUnserialisable(value) : text.toWellFormed()
  } catch (error) {
    return `(the result cannot be shown: ${messageOf(error)})`
  }
}

function describeUnserialisable(value: unknown): string {
  return value === undefined ? NOTHING_RETURNED : String(value)
}

/** A `JSON.stringify` replacer. It sees each value with its holder as `this`, which gives the path for cycles. */
function plainForm(): (this: unknown, key: string, value: unknown) => unknown {
  const ancestors: unknown[] = []
  return function (_key, value) {
    while (ancestors.length > 0 && ancestors.at(-1) !== this) ancestors.pop()
    if (typeof value === 'bigint') return value.toString()
    if (typeof value !== 'object' || value === null) return value
    if (ancestors.includes(value)) return '(cycle)'
    const plain = plainObject(value)
    ancestors.push(plain)
    return plain
  }
}

function plainObject(value: object): object {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, entry]) => [String(key), entry]))
  if (value instanceof Set) return [...value]
  if (value instanceof Error) return { error: value.name, message: value.message }
  return value
}
