/** Ways in which models say that they want no tool. */
const NO_ACTION = /^(none|null|nil|n\/a|no[ _]action)?$/i

/** Many models were taught to give their answer as an action of this name. */
const FINAL_ANSWER = /^final[ _-]?answer$/i

/** The tool that an `action` asks for, offered or not; `undefined` where it asks for none. */
export function toolNamed(action: unknown, tools: readonly string[]): string | undefined {
  const name = typeof action === 'string' ? action.trim() : ''
  if (tools.includes(name)) return name
  return NO_ACTION.test(name) || FINAL_ANSWER.test(name) ? undefined : name
}

/** Whether an `action` says that its input is the answer. */
export function namesFinalAnswer(action: unknown): boolean {
  return typeof action === 'string' && FINAL_ANSWER.test(action.trim())
}
