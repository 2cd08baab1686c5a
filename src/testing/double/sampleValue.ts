import { fieldsOf, isFields } from '../../messages/fields.ts'
import type { JsonSchema } from '../../messages/types.ts'

/** A reference that leads to itself must not be followed for ever. */
const MAX_DEPTH = 20

/** Texts of the formats that JSON Schema names, for those that tools use. */
const formats: Readonly<Record<string, string>> = {
  date: '2030-01-01',
  time: '12:00:00Z',
  'date-time': '2030-01-01T12:00:00Z',
  duration: 'P1D',
  email: 'someone@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
}

/**
 * A small value for a JSON Schema: an example or a default where it has one, else what it requires and nothing more.
 * A guess: patterns and conditions between fields are not looked at, so it has to be validated.
 */
export function sampleValue(schema: JsonSchema): unknown {
  return new Sampler(schema).valueOf(schema, 0)
}

class Sampler {
  readonly #root: JsonSchema

  constructor(root: JsonSchema) {
    this.#root = root
  }

  valueOf(given: unknown, depth: number): unknown {
    if (!isFields(given) || depth > MAX_DEPTH) return null
    const schema = this.#merged(given, depth)
    if (Array.isArray(schema.examples) && schema.examples.length > 0) return schema.examples[0]
    if ('default' in schema) return schema.default
    if ('const' in schema) return schema.const
    if (Array.isArray(schema.enum)) return schema.enum[0]
    const alternatives = schema.anyOf ?? schema.oneOf
    if (Array.isArray(alternatives)) return this.valueOf(alternatives[0], depth + 1)
    return this.#ofType(schema, depth)
  }

  #ofType(schema: JsonSchema, depth: number): unknown {
    switch (typeOf(schema)) {
      case 'string':
        return sampleText(schema)
      case 'integer':
      case 'number':
        return sampleNumber(schema)
      case 'boolean':
        return false
      case 'array':
        return this.#sampleArray(schema, depth)
      case 'object':
        return this.#sampleObject(schema, depth)
      default:
        return null
    }
  }

  #sampleArray({ items, prefixItems, minItems }: JsonSchema, depth: number): unknown[] {
    const first = Array.isArray(prefixItems) ? prefixItems : []
    const length = Math.max(first.length, countOr(minItems, 0))
    return Array.from({ length }, (_, i) => this.valueOf(first[i] ?? items, depth + 1))
  }

  #sampleObject({ properties, required }: JsonSchema, depth: number): Record<string, unknown> {
    const schemas = fieldsOf(properties)
    const names = (Array.isArray(required) ? required : []).filter((name) => typeof name === 'string')
    return Object.fromEntries(names.map((name) => [name, this.valueOf(schemas[name], depth + 1)]))
  }

  /** The schema with what it refers to and all of its `allOf` in one. */
  #merged({ $ref: ref, allOf, ...schema }: JsonSchema, depth: number): JsonSchema {
    if (depth > MAX_DEPTH) return schema
    const parts = [...(ref === undefined ? [] : [this.#referred(ref)]), ...listOf(allOf)]
    let whole: JsonSchema = schema
    for (const part of parts.filter(isFields)) whole = merged(whole, this.#merged(part, depth + 1))
    return whole
  }

  /** What a reference within the schema leads to, such as `#/$defs/point`. */
  #referred(ref: unknown): unknown {
    if (typeof ref !== 'string' || !ref.startsWith('#')) return undefined
    const keys = ref.split('/').slice(1)
    return keys.reduce<unknown>(
      (at, key) => (isFields(at) ? at[key.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
      this.#root,
    )
  }
}

function merged(a: JsonSchema, b: JsonSchema): JsonSchema {
  const isObject = a.properties !== undefined || b.properties !== undefined
  const required = [...listOf(a.required), ...listOf(b.required)]
  return {
    ...b,
    ...a,
    ...(isObject ? { properties: { ...fieldsOf(b.properties), ...fieldsOf(a.properties) } } : {}),
    ...(required.length === 0 ? {} : { required }),
  }
}

function typeOf({ type, properties, items }: JsonSchema): unknown {
  if (Array.isArray(type)) return type[0]
  if (type !== undefined) return type
  if (properties !== undefined) return 'object'
  return items === undefined ? undefined : 'array'
}

function sampleText({ format, minLength, maxLength }: JsonSchema): string {
  const text = (typeof format === 'string' ? formats[format] : undefined) ?? 'text'
  return text.padEnd(countOr(minLength, 0), '.').slice(0, countOr(maxLength, Number.POSITIVE_INFINITY))
}

/** The number nearest to 0 that the bounds allow, where there is a simple one. */
function sampleNumber({
  minimum,
  maximum,
  exclusiveMinimum,
  exclusiveMaximum,
  multipleOf,
}: JsonSchema): number {
  const step = countOr(multipleOf, 1) || 1
  const least = Math.max(bound(minimum, -1), bound(exclusiveMinimum, -1, step))
  const most = Math.min(bound(maximum, 1), bound(exclusiveMaximum, 1, -step))
  if (least <= 0 && most >= 0) return 0
  if (least > 0) {
    const rounded = Math.ceil(least / step) * step
    return rounded <= most ? rounded : (least + most) / 2
  }
  return Math.floor(most / step) * step
}

/** A bound as a number that is allowed itself; far away in the given direction where there is none. */
function bound(value: unknown, direction: -1 | 1, beyond = 0): number {
  return typeof value === 'number' ? value + beyond : direction * Number.POSITIVE_INFINITY
}

function countOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
