import { type Fields, isFields } from '../messages/fields.ts'

/**
 * JSON text that loses less than JSON: what an effect settles with may hold values that JSON does not know (the state of
 * a user's memory, fields that a user's model adds to its messages), and a run that is resumed has to see what the run saw that
 * went before. Such a value is written as an object with one key that begins with `$`; keys that begin so of themselves
 * are written with one `$` more.
 *
 * | value | written |
 * |--|--|
 * | `10n` | `{"$bigint":"10"}` |
 * | `NaN`, `Infinity`, `-Infinity` | `{"$number":"NaN"}` |
 * | a `Date` | `{"$date":1764536400000}` |
 * | a `Map`, a `Set` | `{"$map":[[key, value], …]}`, `{"$set":[…]}` |
 * | an `Error` | `{"$error":{"name":…,"message":…}}`, with its `cause` and those of its fields that are no objects, without its stack; it comes back as an `Error` of that name |
 *
 * Everything else is JSON as JavaScript writes it: functions are left out, other objects lose their class.
 */

/** @throws TypeError for a value that contains itself. */
export function losslessText(value: unknown): string {
  return JSON.stringify(value, tagged)
}

/** @throws SyntaxError for text that is no such JSON. */
export function readLossless(text: string): unknown {
  // Reading looks at each value a second time only where there is one to be restored.
  return text.includes('"$') ? JSON.parse(text, restored) : JSON.parse(text)
}

/** What JSON.stringify is to write instead of a value. `this` holds the value as it was before its toJSON was asked. */
function tagged(this: unknown, key: string, json: unknown): unknown {
  const value = (this as Fields)[key]
  switch (typeof value) {
    case 'bigint':
      return { $bigint: String(value) }
    case 'number':
      return Number.isFinite(value) ? value : { $number: String(value) }
    case 'object':
      return value === null ? null : taggedObject(value, json)
    default:
      return json
  }
}

function taggedObject(value: object, json: unknown): unknown {
  if (value instanceof Date) return { $date: value.getTime() }
  if (value instanceof Error) return { $error: errorFields(value) }
  if (value instanceof Map) return { $map: [...value] }
  if (value instanceof Set) return { $set: [...value] }
  return isFields(json) && Object.keys(json).some(isMarked) ? renamed(json, (key) => `$${key}`) : json
}

/** Objects that an error carries may be anything, such as the request that failed, which contains itself. */
function errorFields(error: Error): Fields {
  const { name, message, cause } = error
  const own = Object.entries(error).filter(
    ([, value]) => typeof value !== 'object' && typeof value !== 'function',
  )
  return { ...Object.fromEntries(own), name, message, ...(cause === undefined ? {} : { cause }) }
}

/** Undoes `tagged`. Called from the inside out. */
function restored(_key: string, value: unknown): unknown {
  if (!isFields(value)) return value
  const keys = Object.keys(value)
  if (!keys.some(isMarked)) return value
  const [tag = ''] = keys
  const content = value[tag]
  switch (tag) {
    case '$bigint':
      return BigInt(content as string)
    case '$date':
      return new Date(content as number)
    case '$error':
      return restoredError(content as Fields)
    case '$number':
      return Number(content)
    case '$map':
      return new Map(content as [unknown, unknown][])
    case '$set':
      return new Set(content as unknown[])
    default:
      return renamed(value, (key) => key.slice(1))
  }
}

function restoredError(fields: Fields): Error {
  const { message, name, cause, ...own } = fields
  const error = new Error(String(message), 'cause' in fields ? { cause } : undefined)
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  return Object.assign(error, own)
}

function isMarked(key: string): boolean {
  return key.startsWith('$')
}

function renamed(object: Fields, rename: (key: string) => string): Fields {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [isMarked(key) ? rename(key) : key, value]),
  )
}
