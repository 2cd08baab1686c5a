/**
 * The transcript's messages, in the format of OpenAI's chat completions, so that existing logs and stores fit.
 * https://platform.openai.com/docs/api-reference/chat
 */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** Instructions. `developer` is what newer OpenAI models call `system`; both are kept as they came. */
export interface SystemMessage {
  readonly role: 'system' | 'developer'
  readonly content: string
}

/** What a person said: text, or parts for models that see images or hear audio. */
export interface UserMessage {
  readonly role: 'user'
  readonly content: string | readonly ContentPart[]
  readonly name?: string
}

/** A part of a user message. Parts other than text pass through to the provider untouched. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image_url'
      readonly image_url: { readonly url: string; readonly detail?: 'auto' | 'low' | 'high' }
    }
  | { readonly type: 'input_audio' | 'file'; readonly [field: string]: unknown }

/**
 * What the model said. Fields that a provider adds (`reasoning_content` and the like) are kept, because some
 * providers refuse a history from which they are missing.
 */
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: string | null
  readonly tool_calls?: readonly ToolCall[]
  readonly [extra: string]: unknown
}

/**
 * A request of the model to run a tool. `arguments` is JSON text, as the protocol has it. Fields that a provider adds
 * (a signature of its thoughts, say) are kept, because some refuse a call from which they are missing.
 */
export interface ToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
  readonly [extra: string]: unknown
}

/** The answer to one tool call. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly tool_call_id: string
  readonly content: string
}

/** A JSON Schema, as providers take it for a tool's parameters. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** What a model is told of a tool. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
  /** Ask the provider to hold the model to the schema. Default: not asked. */
  readonly strict?: boolean
}
