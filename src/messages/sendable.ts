import type { ToolCall } from './types.ts'

/** The names that providers take for a tool. https://platform.openai.com/docs/api-reference/chat/create */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/

export function isToolName(name: string): boolean {
  return TOOL_NAME.test(name)
}

/** The id itself where it is new, else one derived from `fallback`. */
export function uniqueId(id: unknown, fallback: string, isUsed: (id: string) => boolean): string {
  let candidate = typeof id === 'string' && id !== '' ? id.toWellFormed() : fallback
  for (let n = 2; isUsed(candidate); n++) candidate = `${fallback}_${n}`
  return candidate
}

/** A call as a provider takes it back: a name that it accepts, and arguments that are JSON text. */
export function sendableCall({ id, function: { name, arguments: args }, ...extras }: ToolCall): ToolCall {
  return {
    ...extras,
    id,
    type: 'function',
    function: { name: sendableName(name), arguments: sendableArguments(args) },
  }
}

function sendableName(name: string): string {
  return isToolName(name) ? name : name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unnamed'
}

/** Text that is not JSON becomes `{}`. */
function sendableArguments(args: unknown): string {
  if (typeof args !== 'string') return JSON.stringify(args ?? {})
  try {
    JSON.parse(args)
    return args.toWellFormed()
  } catch {
    return '{}'
  }
}

/** The same value with every lone surrogate replaced, which providers refuse. What has none comes back as it is. */
export function wellFormed<Value>(value: Value): Value {
  return isWellFormed(value) ? value : (mend(value) as Value)
}

/** `JSON.stringify` writes a lone surrogate as an escape, so texts are looked at before they are serialised. */
export function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  for (const key in value) {
    if (!isWellFormed((value as Record<string, unknown>)[key])) return false
  }
  return true
}

function mend(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(mend)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, mend(entry)]))
}
