import { plainForm } from './plainForm.ts'

/** What the model is shown for a tool that returns nothing. */
export const NOTHING_RETURNED = '(the tool returned nothing)'

/** About how long a text is made of a value that is no text; what is shown to the model is capped in tokens besides. */
const MAX_CHARACTERS = 1_000_000

/**
 * The text of what a tool returned: a string stays as it is, `undefined` becomes a fixed marker, everything else
 * becomes JSON, or a bare text where it is one value such as a date. Values that JSON does not know are written in a
 * readable form (docs/tools.md has the list). Never throws, is well-formed, and stops early where there is too much.
 */
export function renderResult(value: unknown): string {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value === 'boolean' || value === null || Number.isSafeInteger(value)) return String(value)
  const plain = plainForm(value, MAX_CHARACTERS)
  if (plain === undefined) return NOTHING_RETURNED
  return typeof plain === 'string' ? plain : JSON.stringify(plain)
}
