import { jsonrepair } from 'jsonrepair'

/**
 * The longest text that is given to the repair, in characters: beyond that, jsonrepair 3.15 takes seconds for some
 * texts and minutes for twice as much.
 */
const REPAIRABLE_LENGTH = 50_000

/** A stretch of text that looks like a JSON object. */
export interface ObjectText {
  readonly text: string
  /** Whether it has an end, lacks nothing but its last brace, or stops anywhere. */
  readonly end: 'closed' | 'brace_missing' | 'open'
}

/**
 * The outermost objects of a text, in order, whatever stands around them. What follows an object that never ends
 * belongs to it: an object inside a broken one must not be taken for a reply.
 */
export function* objectsIn(text: string): Generator<ObjectText> {
  let from = text.indexOf('{')
  while (from >= 0) {
    const found = objectAt(text, from)
    yield found
    from = text.indexOf('{', from + found.text.length)
  }
}

function objectAt(text: string, from: number): ObjectText {
  let depth = 0
  let quoted = false
  for (let i = from; i < text.length; i++) {
    const char = text[i]
    if (char === '\\' && quoted) i++
    else if (char === '"') quoted = !quoted
    else if (quoted) continue
    else if (char === '{' || char === '[') depth++
    else if ((char === '}' || char === ']') && --depth === 0) {
      return { text: text.slice(from, i + 1), end: 'closed' }
    }
  }
  const rest = withoutFence(text.slice(from))
  return { text: rest, end: depth === 1 && !quoted && rest.endsWith('}') ? 'brace_missing' : 'open' }
}

function withoutFence(text: string): string {
  const trimmed = text.trimEnd()
  return trimmed.endsWith('```') ? trimmed.slice(0, -3).trimEnd() : trimmed
}

/** The value of a JSON text, `undefined` where it is none. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The value of a text that a library can make JSON of, `undefined` where it cannot. */
export function repairedJson(text: string): unknown {
  if (text.length > REPAIRABLE_LENGTH) return undefined
  try {
    return JSON.parse(jsonrepair(text))
  } catch {
    return undefined
  }
}

/** A text without the thoughts that some models write before it: what stands in them is not meant. */
export function withoutThoughts(text: string): string {
  return text.replace(/^\s*<think>[\s\S]*?<\/think>/i, '')
}
