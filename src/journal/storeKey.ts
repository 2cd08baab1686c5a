/** A run's or session's id as a text that any database keeps: NUL and halves of surrogate pairs are escaped as in JSON. */
export function storeKey(id: string): string {
  return JSON.stringify(id).slice(1, -1)
}

/** The id that `storeKey` made a text of. */
export function idOf(key: string): string {
  return JSON.parse(`"${key}"`) as string
}
