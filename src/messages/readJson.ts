import { jsonrepair } from 'jsonrepair'
import { messageOf } from '../errors.ts'

/** What was read of a text, or what is wrong with it. */
export type ReadResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: string }

/**
 * Reads the JSON object that a model was asked to write. Models wrap it in a fence, write a sentence around it, leave
 * a comma too many; what is left to guess is left to a library that repairs JSON.
 */
export function readJson(text: string): ReadResult<unknown> {
  const candidates = [text, fenced(text), braced(text)].filter((candidate) => candidate !== undefined)
  for (const candidate of candidates) {
    const value = parsed(candidate)
    if (value !== undefined) return { ok: true, value }
  }
  const object = candidates.findLast((candidate) => candidate.trimStart().startsWith('{'))
  if (object === undefined) return { ok: false, problem: 'it holds no JSON object' }
  try {
    return { ok: true, value: JSON.parse(jsonrepair(object)) }
  } catch (error) {
    return { ok: false, problem: messageOf(error) }
  }
}

function fenced(text: string): string | undefined {
  return /```(?:json)?\s*([\s\S]*?)```/.exec(text)?.[1]
}

function braced(text: string): string | undefined {
  const from = text.indexOf('{')
  const to = text.lastIndexOf('}')
  return from >= 0 && to > from ? text.slice(from, to + 1) : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
