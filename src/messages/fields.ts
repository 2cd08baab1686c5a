/** An object of which nothing is known. */
export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The fields of anything: of what is no object, none. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

/** A number of tokens; what is no count says nothing. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}
