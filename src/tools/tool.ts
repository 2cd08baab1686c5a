import type { JsonSchema } from '../messages/types.ts'

/** What a tool's `run` is given beside its arguments. */
export interface ToolContext {
  /** Aborted when the run is cancelled or the tool's timeout has passed. */
  readonly signal: AbortSignal
  /**
   * The same for every execution of one call, also after a crash and resume: give it to the service that you call
   * so that an effect happens once.
   */
  readonly idempotencyKey: string
  readonly runId: string
  readonly callId: string
  /** What the caller passed as `context` to `agent.run`: a user, a tenant, a connection. Not kept in the journal. */
  readonly context: unknown
  /** Reports progress; shown as a `tool.progress` event. Any JSON value. */
  emit(progress: unknown): void
}

/** Arguments that fit the tool's schema, or a list of what does not fit, in words for the model. */
export type ParsedArguments<Arguments = unknown> =
  | { readonly ok: true; readonly value: Arguments }
  | { readonly ok: false; readonly issues: readonly string[] }

/** A tool as the loop sees it. Made by `defineTool`. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of what the model has to send: the input side of the schema, before defaults and transforms. */
  readonly parameters: JsonSchema
  /** Milliseconds after which a call is given up. */
  readonly timeoutMs: number
  /** Whether a call may run again with the same key when a crash left its outcome unknown. */
  readonly idempotent: boolean
  /** Whether a person has to approve a call; a function is asked with what `parse` returned. */
  readonly needsApproval: boolean | ((args: unknown) => boolean | Promise<boolean>)
  /** Validates arguments and applies defaults and transforms. */
  parse(args: unknown): ParsedArguments | Promise<ParsedArguments>
  /** Runs with what `parse` returned. */
  run(args: unknown, context: ToolContext): unknown
}

/** Why a tool call did not succeed. */
export type ToolErrorCode =
  | 'unknown_tool'
  | 'invalid_json'
  | 'invalid_arguments'
  | 'truncated'
  | 'denied'
  | 'timeout'
  | 'cancelled'
  | 'failed'
  | 'in_doubt'

/** What the model is told of a call. */
export interface ToolResult {
  /** The text that answers the call. */
  readonly content: string
  /** Set when the call did not succeed. */
  readonly error?: ToolErrorCode
}
