import { RESULT_NOT_RECORDED } from '../../messages/history.ts'
import { isSystem } from '../../messages/invariants.ts'
import { parsedJson } from '../../messages/jsonObjects.ts'
import type {
  AssistantMessage,
  ContentPart,
  Message,
  SystemMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from '../../messages/types.ts'

interface ConversationOptions {
  /** Whether final answers are JSON objects. */
  readonly structured: boolean
  /** What to add to the system message, given what it says already. */
  instructions(given: string): string
}

/**
 * The messages as the protocol has them: one system message, then user and assistant in turns. A call is the JSON
 * object that asks for it, its result an observation in the user message after it; several calls of one message become
 * as many turns.
 */
export function conversationOf(
  messages: readonly Message[],
  { structured, instructions }: ConversationOptions,
): readonly Message[] {
  const systems = messages.filter((message): message is SystemMessage => isSystem(message))
  const given = systems.map(({ content }) => content).join('\n\n')
  const turns = new Turns(structured)
  for (const message of messages) turns.add(message)
  return [
    {
      role: systems[0]?.role ?? 'system',
      content: [given, instructions(given)].filter(Boolean).join('\n\n'),
    },
    ...turns.finish(),
  ]
}

class Turns {
  readonly #structured: boolean
  readonly #turns: (UserMessage | AssistantMessage)[] = []
  /** What the model said last, as long as it may be continued or answered. */
  #said: AssistantMessage | undefined
  #results: ToolMessage[] = []

  constructor(structured: boolean) {
    this.#structured = structured
  }

  add(message: Message): void {
    switch (message.role) {
      case 'tool':
        this.#results.push(message)
        break
      case 'assistant':
        this.#say(message)
        break
      case 'user':
        this.#flush()
        this.#hear(message)
        break
      default:
        break
    }
  }

  finish(): readonly Message[] {
    this.#flush()
    return this.#turns
  }

  /** Text that the model goes on after is the thought of what follows. */
  #say(message: AssistantMessage): void {
    const before = this.#said
    if (before !== undefined && callsOf(before).length === 0) {
      this.#said = { ...before, ...message, content: joined(before.content, message.content) }
    } else {
      this.#flush()
      this.#said = message
    }
  }

  #flush(): void {
    const said = this.#said
    const results = this.#results
    this.#said = undefined
    this.#results = []
    if (said === undefined) return
    const { tool_calls: _calls, content, ...extras } = said
    const calls = callsOf(said)
    if (calls.length === 0) {
      this.#turns.push({ ...extras, role: 'assistant', content: this.#answer(content ?? '') })
    }
    calls.forEach((call, i) => {
      const asked = action(call, i === 0 ? content : null)
      this.#turns.push({ ...(i === 0 ? extras : {}), role: 'assistant', content: asked })
      const result = results.find((candidate) => candidate.tool_call_id === call.id)
      const observed = `Observation from ${call.function.name}: ${result?.content ?? RESULT_NOT_RECORDED}`
      this.#hear({ role: 'user', content: observed })
    })
  }

  /** Many chat templates refuse two user messages in a row. */
  #hear(message: UserMessage): void {
    const last = this.#turns.at(-1)
    if (last?.role !== 'user') this.#turns.push(message)
    else this.#turns.splice(-1, 1, { ...last, content: together(last.content, message.content) })
  }

  #answer(text: string): string {
    const value = this.#structured ? parsedJson(text) : undefined
    return JSON.stringify({ final_answer: typeof value === 'object' && value !== null ? value : text })
  }
}

function callsOf({ tool_calls: calls }: AssistantMessage): readonly ToolCall[] {
  return calls ?? []
}

function action({ function: { name, arguments: args } }: ToolCall, thought: string | null): string {
  return JSON.stringify({
    ...(thought ? { thought } : {}),
    action: name,
    action_input: parsedJson(args) ?? args,
  })
}

function joined(a: string | null, b: string | null): string | null {
  return [a, b].filter(Boolean).join('\n\n') || null
}

function together(a: UserMessage['content'], b: UserMessage['content']): UserMessage['content'] {
  if (typeof a === 'string' && typeof b === 'string') return `${a}\n\n${b}`
  return [...partsOf(a), ...partsOf(b)]
}

function partsOf(content: UserMessage['content']): readonly ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}
