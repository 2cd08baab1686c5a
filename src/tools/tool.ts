import type { Usage } from '../messages/reply.ts'
import type { ToolErrorCode } from '../messages/toolTexts.ts'
import type { JsonSchema, Message } from '../messages/types.ts'

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
  /** Counts tokens that the tool spent on models of its own to the run. `model` is the id of the one that was asked. */
  addUsage?(usage: Usage, model?: string): void
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
  /** Whether the provider is asked to hold the model to `parameters`. */
  readonly strict?: boolean
  /** Whether arguments that are not JSON may be repaired by a library, which guesses. Default: false. */
  readonly repairArguments?: boolean
  /** Milliseconds after which a call is given up. */
  readonly timeoutMs: number
  /** How often a call is tried again after an error that may pass. */
  readonly retries: number
  /** Milliseconds before each retry; the last one holds for all further ones. Default: exponential, with jitter. */
  readonly retryDelaysMs?: readonly number[]
  /** Whether an error that `run` threw may pass. */
  isTransient(error: unknown): boolean
  /** Whether a call may run again with the same key when a crash left its outcome unknown. */
  readonly idempotent: boolean
  /** Whether a call waits for those before it in its reply, and those behind it wait for it. */
  readonly sequential: boolean
  /** How many calls of this tool run at once in one agent, over all its runs. */
  readonly concurrency: number
  /** Whether calling it again with the same arguments is legitimate, as for polling. */
  readonly repeatable: boolean
  /** The most tokens of a result that enter the transcript. */
  readonly maxResultTokens: number
  /** The most characters of a result that enter the transcript. Default: as many as its tokens allow. */
  readonly maxResultCharacters?: number
  /** Whether the tool is offered in a step. Default: always. */
  onlyWhen?(facts: StepFacts): boolean
  /** Whether a person has to approve a call; a function is asked with what `parse` returned. */
  readonly needsApproval: boolean | ((args: unknown) => boolean | Promise<boolean>)
  /** Validates arguments and applies defaults and transforms. */
  parse(args: unknown): ParsedArguments | Promise<ParsedArguments>
  /** Runs with what `parse` returned. */
  run(args: unknown, context: ToolContext): unknown
  /** What the model is shown of what `run` returned. Default: a string as it is, anything else as JSON. */
  readonly render?: (value: unknown) => string
}

/** What is known of a run when a step begins. */
export interface StepFacts {
  /** 1 for the first model call. */
  readonly step: number
  /** The conversation so far, without the system message. */
  readonly transcript: readonly Message[]
}

/** What the model is told of a call. */
export interface ToolResult {
  /** The text that answers the call. */
  readonly content: string
  /** Set when the call did not succeed. */
  readonly error?: ToolErrorCode
  /** Tokens that the tool spent on models of its own. */
  readonly usage?: Usage
  /** The same, by model; by the tool's name where it did not say which. */
  readonly usageByModel?: Readonly<Record<string, Usage>>
}
