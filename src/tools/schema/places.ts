import { fieldsOf } from '../../messages/fields.ts'
import type { JsonSchema } from '../../messages/types.ts'

/** The kinds of value that JSON knows; an integer is a number. */
export type JsonKind = 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array'

/** A JSON Schema beside the whole that its references point into. */
export interface Place {
  readonly schema: JsonSchema
  readonly root: JsonSchema
}

export function kindOf(value: unknown): JsonKind | undefined {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  return type === 'string' || type === 'number' || type === 'boolean' || type === 'object' ? type : undefined
}

/** What a value may look like at this place: references followed, choices spread out. Nothing for `false`. */
export function formsOf(schema: unknown, root: JsonSchema): readonly Place[] {
  return spread(schema, root, new Set())
}

function spread(schema: unknown, root: JsonSchema, seen: Set<unknown>): readonly Place[] {
  if (schema === false || seen.has(schema)) return []
  seen.add(schema)
  const fields = fieldsOf(schema)
  const { $ref: ref, anyOf, oneOf, allOf, type } = fields
  const target = typeof ref === 'string' ? spread(resolve(ref, root), root, seen) : []
  const branches = [anyOf, oneOf, allOf]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .flatMap((branch) => spread(branch, root, seen))
    .map((place) => ({ root, schema: type === undefined ? place.schema : { type, ...place.schema } }))
  const indirect = [...target, ...branches]
  const isWrapper = (ref !== undefined || branches.length > 0) && kindsOf(fields) === undefined
  return isWrapper ? indirect : [{ schema: fields, root }, ...indirect]
}

/** What a reference within a schema points to, `undefined` where there is nothing. */
function resolve(ref: string, root: JsonSchema): unknown {
  if (!ref.startsWith('#')) return false
  let found: unknown = root
  for (const segment of ref.slice(1).split('/').slice(1)) {
    const key = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    if (!Object.hasOwn(fieldsOf(found), key)) return false
    found = fieldsOf(found)[key]
  }
  return found
}

/** The kinds of value that a form takes, `undefined` where it takes any. */
export function kindsOf(form: JsonSchema): ReadonlySet<JsonKind> | undefined {
  const { type, enum: values, const: only } = form
  if (Array.isArray(values)) return new Set(values.map(kindOf).filter((kind) => kind !== undefined))
  if ('const' in form) return new Set([kindOf(only)].filter((kind) => kind !== undefined))
  if (type !== undefined) {
    const types = Array.isArray(type) ? type : [type]
    return new Set(types.map((name) => (name === 'integer' ? 'number' : (name as JsonKind))))
  }
  if ('properties' in form) return new Set(['object'])
  if ('items' in form || 'prefixItems' in form) return new Set(['array'])
  return undefined
}

export function takes({ schema }: Place, kind: JsonKind): boolean {
  return kindsOf(schema)?.has(kind) ?? true
}

/** The forms of a member of an object or array. Empty where a form says nothing of it. */
export function formsOfMember({ schema, root }: Place, key: string | number): readonly Place[] {
  if (typeof key === 'number') {
    const { prefixItems, items } = schema
    const member = Array.isArray(prefixItems) && key < prefixItems.length ? prefixItems[key] : items
    return member === undefined ? [] : formsOf(member, root)
  }
  const properties = fieldsOf(schema.properties)
  const member = Object.hasOwn(properties, key) ? properties[key] : schema.additionalProperties
  return member === undefined ? [] : formsOf(member, root)
}

/** The properties of an object form, each with whether it may be left out. */
export function propertiesOf({
  schema,
}: Place): readonly { readonly key: string; readonly schema: unknown; readonly optional: boolean }[] {
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(fieldsOf(schema.properties)).map(([key, property]) => ({
    key,
    schema: property,
    optional: !required.includes(key),
  }))
}
