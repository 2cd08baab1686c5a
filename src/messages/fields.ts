/** An object of which nothing is known. */
export type Fields = Readonly<Record<string, unknown>>

/** The fields of anything: of what is no object, none. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

/** A number of tokens; what is no count says nothing. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}
