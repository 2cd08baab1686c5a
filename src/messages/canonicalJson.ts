import { type Fields, isFields } from './fields.ts'

/** JSON text in which the order of keys says nothing: equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) => (isFields(entry) ? sorted(entry) : entry))
}

/** The canonical form of JSON text; text that is not JSON stays as it is. */
export function canonicalText(json: string): string {
  try {
    return canonicalJson(JSON.parse(json.trim() === '' ? '{}' : json))
  } catch {
    return json
  }
}

function sorted(object: Fields): Fields {
  // Entries instead of assignment: a key named __proto__ is a key like any other.
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
}
