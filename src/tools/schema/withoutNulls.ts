import { fromJSONSchema, registry, type ZodType } from 'zod'
import type { JsonSchema } from '../../messages/types.ts'
import { formsOf, formsOfMember, kindOf, type Place, propertiesOf, takes } from './places.ts'
import { takesNull } from './strictSchema.ts'

/**
 * Undoes what strict mode asks of a model: a `null` for a key that the schema lets be left out, and that may not be
 * null by itself, is left out. `schema` is the one before it was rewritten. Of several forms of an object or array,
 * the first that fits decides; where none does, it stays as it is.
 */
export function withoutNulls(value: unknown, schema: JsonSchema): unknown {
  return strip(value, formsOf(schema, schema))
}

function strip(value: unknown, forms: readonly Place[]): unknown {
  const kind = kindOf(value)
  if (kind !== 'object' && kind !== 'array') return value
  const possible = forms.filter((form) => takes(form, kind))
  const form = possible.length > 1 ? possible.find((candidate) => fits(value, candidate)) : possible[0]
  if (form === undefined) return value
  if (Array.isArray(value)) return value.map((item, i) => strip(item, formsOfMember(form, i)))
  const absent = absentWhenNull(form)
  return Object.fromEntries(
    Object.entries(value as object)
      .filter(([key, entry]) => entry !== null || !absent.has(key))
      .map(([key, entry]) => [key, strip(entry, formsOfMember(form, key))]),
  )
}

/** Keys of an object form for which `null` means that they were left out. */
function absentWhenNull(form: Place): ReadonlySet<string> {
  return new Set(
    propertiesOf(form)
      .filter(({ schema, optional }) => optional && !takesNull(schema, form.root))
      .map(({ key }) => key),
  )
}

/** Whether a value, as strict mode has it written, is of this form. */
function fits(value: unknown, form: Place): boolean {
  const kind = kindOf(value)
  if (kind === undefined || !takes(form, kind)) return false
  if (Array.isArray(value))
    return isOfLength(value, form) && value.every((item, i) => fitsMember(item, i, form))
  return kind === 'object' ? fitsObject(value as object, form) : leafOf(form.schema).safeParse(value).success
}

function fitsObject(value: object, form: Place): boolean {
  const absent = absentWhenNull(form)
  const properties = propertiesOf(form)
  const entries = Object.entries(value)
  return (
    properties.every(({ key, optional }) => optional || Object.hasOwn(value, key)) &&
    entries.every(([key, entry]) => (entry === null && absent.has(key)) || fitsMember(entry, key, form))
  )
}

function fitsMember(value: unknown, key: string | number, form: Place): boolean {
  return formsOfMember(form, key).some((member) => fits(value, member))
}

function isOfLength(
  { length }: readonly unknown[],
  { schema: { minItems = 0, maxItems = Number.POSITIVE_INFINITY } }: Place,
): boolean {
  return length >= Number(minItems) && length <= Number(maxItems)
}

const leaves = new WeakMap<JsonSchema, ZodType>()

/** The validation of a form that holds no others. */
function leafOf(schema: JsonSchema): ZodType {
  const known = leaves.get(schema)
  if (known !== undefined) return known
  const leaf = fromJSONSchema(schema, { registry: registry() })
  leaves.set(schema, leaf)
  return leaf
}
