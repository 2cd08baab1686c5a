import type { ToolCall } from '../../src/index.ts'

/** A call of a tool; arguments that are no text are encoded. */
export function callOf(name: string, args: unknown): ToolCall {
  const text = typeof args === 'string' ? args : JSON.stringify(args)
  return { id: 'c', type: 'function', function: { name, arguments: text } }
}
