import { hush } from '../thenables.ts'

/** What an object is to be written as. */
export type PlainShape = { readonly value: unknown } | PlainList | PlainRecord

export interface PlainList {
  readonly items: Iterable<unknown>
  readonly count: number
}

export interface PlainRecord {
  readonly entries: Iterable<readonly [unknown, unknown]>
  /** 0 where it is not known. */
  readonly count: number
}

/** The longest message of an error that stands for a value. */
const SHOWN_MESSAGE = 200

/** Fields of an error that are shown whether they are enumerable or not. */
const ERROR_FIELDS = ['name', 'message', 'cause', 'errors']

/** The form of an object, looked at from outside: nothing in it is read yet but `toJSON`. May throw what that throws. */
export function plainShape(value: object): PlainShape {
  const shown = hasToJson(value) && !isShownWithoutToJson(value) ? value.toJSON('') : value
  return typeof shown === 'object' && shown !== null ? shapeOf(shown) : { value: shown }
}

/** Stands for a value that throws when it is looked at. */
export function hiddenBy(thrown: unknown): string {
  const message = readField(thrown, 'message', () => undefined)
  const why = typeof thrown === 'string' ? thrown : message
  return typeof why === 'string' && why !== ''
    ? `(cannot be shown: ${why.slice(0, SHOWN_MESSAGE)})`
    : '(cannot be shown)'
}

/** The built-in class of an object, `Object` for most others. Known across realms, as `instanceof` does not. */
function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1)
}

export function isError(value: unknown): value is Error {
  return value instanceof Error || tagOf(value) === 'Error'
}

/** A field of anything; a getter that throws gives what `otherwise` makes of it. */
export function readField(
  holder: unknown,
  name: PropertyKey,
  otherwise: (thrown: unknown) => unknown = hiddenBy,
): unknown {
  try {
    return (holder as Record<PropertyKey, unknown> | null | undefined)?.[name]
  } catch (thrown) {
    return otherwise(thrown)
  }
}

function hasToJson(value: object): value is { toJSON(key: string): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}

/** The `toJSON` of these hides what they are, or shows the stack. */
function isShownWithoutToJson(value: object): boolean {
  return ArrayBuffer.isView(value) || isError(value) || tagOf(value) === 'Date'
}

function shapeOf(value: object): PlainShape {
  if (Array.isArray(value)) return { items: itemsOf(value), count: value.length }
  if (isError(value)) return errorShape(value)
  const tag = tagOf(value)
  switch (tag) {
    case 'Date':
      return { value: dateText(value as Date) }
    case 'Map':
    case 'Headers':
    case 'FormData':
      return entriesShape(value as Map<unknown, unknown>)
    case 'Set':
      return { items: value as Set<unknown>, count: (value as Set<unknown>).size }
    case 'ArrayBuffer':
    case 'SharedArrayBuffer':
    case 'DataView':
    case 'Uint8Array':
    case 'Uint8ClampedArray':
      return { value: `(binary data, ${(value as ArrayBuffer).byteLength} bytes)` }
    case 'Blob':
    case 'File':
      return { value: blobText(value as Blob) }
    case 'Response':
      return responseShape(value as Response)
    case 'Promise':
      hush(value)
      return { value: '(a promise that was not awaited)' }
    case 'RegExp':
    case 'URLSearchParams':
      return { value: String(value) }
    case 'Boolean':
    case 'Number':
    case 'String':
    case 'BigInt':
    case 'Symbol':
      return { value: value.valueOf() }
  }
  if (ArrayBuffer.isView(value)) {
    const numbers = value as Float64Array
    return { items: numbers, count: numbers.length }
  }
  return fieldsShape(value, tag)
}

function* itemsOf(array: readonly unknown[]): Generator<unknown> {
  for (let i = 0; i < array.length; i++) yield readField(array, i)
}

function errorShape(error: Error): PlainShape {
  const fields = Object.keys(error).filter((name) => name !== 'stack' && !ERROR_FIELDS.includes(name))
  return named(error, [...ERROR_FIELDS, ...fields])
}

function dateText(date: Date): string {
  return Number.isNaN(date.getTime()) ? '(an invalid date)' : date.toISOString()
}

/** Headers and forms do not say how many entries they have. */
function entriesShape(map: Pick<Map<unknown, unknown>, 'entries'> & { readonly size?: number }): PlainShape {
  return { entries: map.entries(), count: map.size ?? 0 }
}

function blobText({ size, type }: Blob): string {
  return `(binary data, ${size} bytes${type === '' ? '' : `, ${type}`})`
}

/** A body can be read once, and later, so it is left for the tool. */
function responseShape(response: Response): PlainShape {
  const body = '(not read: the tool has to return what await response.text() or response.json() gives)'
  const { status, statusText, url } = response
  return { entries: Object.entries({ status, statusText, url, body }), count: 4 }
}

function fieldsShape(value: object, tag: string): PlainShape {
  const fields = Object.keys(value)
  // A generator, a stream, a weak map: something other than an object without fields.
  return fields.length === 0 && tag !== 'Object' ? { value: `(${tag})` } : named(value, fields)
}

function named(holder: object, fields: readonly string[]): PlainShape {
  return { entries: fieldsOf(holder, fields), count: fields.length }
}

/** As in JSON, methods are left out. */
function* fieldsOf(holder: object, fields: readonly string[]): Generator<readonly [string, unknown]> {
  for (const field of fields) {
    const value = readField(holder, field)
    yield [field, typeof value === 'function' ? undefined : value]
  }
}
