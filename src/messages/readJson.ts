import { objectsIn, parsedJson, repairedJson, withoutThoughts } from './jsonObjects.ts'

/** What was read of a text, or what is wrong with it. */
export type ReadResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: string }

/**
 * Reads the JSON object that a model was asked to write. Models wrap it in a fence, write a sentence around it, leave
 * a comma too many; what is left to guess is left to a library that repairs JSON.
 */
export function readJson(given: string): ReadResult<unknown> {
  const text = withoutThoughts(given)
  const whole = parsedJson(text)
  if (whole !== undefined) return { ok: true, value: whole }
  for (const { text: object } of objectsIn(text)) {
    const value = parsedJson(object) ?? repairedJson(object)
    if (value !== undefined) return { ok: true, value }
  }
  return { ok: false, problem: 'it holds no JSON object that can be read' }
}
