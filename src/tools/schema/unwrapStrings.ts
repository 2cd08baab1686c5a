import type { JsonSchema } from '../../messages/types.ts'
import { formsOf, formsOfMember, kindOf, type Place, takes } from './places.ts'

/**
 * The same value with strings read as JSON where the schema wants an object or an array and the string holds one:
 * some models encode such an argument twice. What was read is not looked into again. The very same value comes back
 * where there was nothing to read.
 */
export function unwrapStrings(value: unknown, schema: JsonSchema, read: (text: string) => unknown): unknown {
  return unwrap(value, formsOf(schema, schema), read)
}

function unwrap(value: unknown, forms: readonly Place[], read: (text: string) => unknown): unknown {
  if (typeof value === 'string') return decoded(value, forms, read)
  if (Array.isArray(value)) {
    const items = value.map((item, i) => unwrap(item, membersAt(forms, i), read))
    return items.some((item, i) => item !== value[i]) ? items : value
  }
  if (typeof value !== 'object' || value === null) return value
  const before = Object.entries(value)
  const after = before.map(([key, entry]) => [key, unwrap(entry, membersAt(forms, key), read)] as const)
  return after.some(([, entry], i) => entry !== before[i]?.[1]) ? Object.fromEntries(after) : value
}

function membersAt(forms: readonly Place[], key: string | number): readonly Place[] {
  return forms.flatMap((form) => formsOfMember(form, key))
}

function decoded(text: string, forms: readonly Place[], read: (text: string) => unknown): unknown {
  if (forms.length === 0 || forms.some((form) => takes(form, 'string'))) return text
  const value = read(text)
  const kind = kindOf(value)
  if (kind !== 'object' && kind !== 'array') return text
  return forms.some((form) => takes(form, kind)) ? value : text
}
