import type {
  CompactIO,
  Memory,
  MemoryFacts,
  Message,
  Model,
  TokenCounter,
  ToolCall,
} from '../../src/index.ts'

/** One token for each character: sums that can be done in the head. */
export const characters: TokenCounter = { count: (text) => text.length }

/** Remembers what it was asked to count. */
export function spyingCounter(): TokenCounter & { readonly counted: string[] } {
  const counted: string[] = []
  return {
    counted,
    count(text) {
      counted.push(text)
      return Math.ceil(text.length / 4)
    },
  }
}

export const user = (content: string): Message => ({ role: 'user', content })
export const says = (content: string): Message => ({ role: 'assistant', content })

const callOf = (id: string): ToolCall => ({
  id,
  type: 'function',
  function: { name: 'look_up', arguments: '{}' },
})

/** An assistant message with as many calls as there are results, and the results. */
export function exchange(id: string, ...results: readonly string[]): readonly Message[] {
  const calls = results.map((_, i) => callOf(`${id}_${i}`))
  return [
    { role: 'assistant', content: null, tool_calls: calls },
    ...results.map((content, i): Message => ({ role: 'tool', tool_call_id: `${id}_${i}`, content })),
  ]
}

/** Who speaks, in order, with the beginning of what is said. */
export function outline(messages: readonly Message[], length = 20): readonly string[] {
  return messages.map((message) => `${message.role}: ${String(message.content).slice(0, length)}`)
}

/** What a memory compacts with outside of a run. */
export function ioFor(known: MemoryFacts, agentModel: Model): CompactIO {
  return { ...known, signal: new AbortController().signal, timeoutMs: 60_000, agentModel }
}

/** The state of a memory after it has made room, where it wants to. */
export async function roomMade(
  memory: Memory,
  transcript: readonly Message[],
  state: unknown,
  io: CompactIO,
): Promise<unknown> {
  if (memory.needsCompaction?.(transcript, state, io) !== true) return state
  return (await memory.compact?.(transcript, state, io))?.state
}
