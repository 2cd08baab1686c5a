import { core, toJSONSchema, type ZodSafeParseResult, type ZodType, type z } from 'zod'
import { MisuseError, messageOf } from '../errors.ts'
import { isToolName } from '../messages/sendable.ts'
import type { JsonSchema } from '../messages/types.ts'
import { timeoutMs } from '../timeouts.ts'
import { isTransientError } from './isTransientError.ts'
import type { ParsedArguments, StepFacts, Tool, ToolContext } from './tool.ts'

/** Milliseconds after which a tool call is given up, unless the tool says otherwise. */
export const DEFAULT_TOOL_TIMEOUT_MS = 30_000
/** How often a call is tried again after an error that may pass, unless the tool says otherwise. */
const DEFAULT_RETRIES = 1
/** Tokens of a result that enter the transcript, unless the tool says otherwise. */
const DEFAULT_MAX_RESULT_TOKENS = 8000

export interface ToolDefinition<Schema extends ZodType> {
  /** How the model calls it: 1 to 64 letters, digits, `_` or `-`. */
  readonly name: string
  /** What it does and when to use it, for the model. */
  readonly description: string
  /** A zod object. Arguments are validated with it before `run` is called. */
  readonly input: Schema
  /** Milliseconds after which a call is given up; its signal is aborted. Default: 30000. */
  readonly timeoutMs?: number
  /** How often a call is tried again after an error that may pass, with back-off. Default: 1. */
  readonly retries?: number
  /**
   * Whether an error that `run` threw may pass. Default: one with `retryable: true`, and connections that were refused,
   * reset or timed out.
   */
  readonly isTransient?: (error: unknown) => boolean
  /** Whether a call waits for those before it in its reply, and those behind it wait for it. Default: false. */
  readonly sequential?: boolean
  /** How many calls of this tool run at once in one agent, over all its runs. Default: Infinity. */
  readonly concurrency?: number
  /** Whether calling it again with the same arguments is legitimate, as for polling. Default: false. */
  readonly repeatable?: boolean
  /** The most tokens of a result that enter the transcript; head and tail are kept. Default: 8000. */
  readonly maxResultTokens?: number
  /** Whether the tool is offered in a step. Default: always. */
  readonly onlyWhen?: (facts: StepFacts) => boolean
  /** What the model is shown of what `run` returned. Default: a string as it is, anything else as JSON. */
  readonly render?: (value: unknown) => string
  /** Whether running twice with one `idempotencyKey` is harmless. Default: false. */
  readonly idempotent?: boolean
  /** Whether a person has to approve a call before it runs. Default: false. */
  readonly needsApproval?: boolean | ((args: z.output<Schema>) => boolean | Promise<boolean>)
  /**
   * Does the work. What it returns is shown to the model: a string as it is, anything else as JSON. What it throws
   * is shown to the model as an error.
   */
  readonly run: (args: z.output<Schema>, context: ToolContext) => unknown
}

/**
 * Defines a tool.
 *
 * @throws MisuseError `invalid_tool` for a bad name, a schema that is not an object, or one that JSON Schema cannot
 * express.
 */
export function defineTool<Schema extends ZodType>(definition: ToolDefinition<Schema>): Tool {
  const { name, description, input, needsApproval = false } = definition
  if (typeof name !== 'string' || !isToolName(name)) {
    throw new MisuseError(
      'invalid_tool',
      `Tool name ${JSON.stringify(name)} is not valid: use 1 to 64 letters, digits, "_" or "-".`,
    )
  }
  if (typeof definition.run !== 'function') {
    throw new MisuseError('invalid_tool', `Tool "${name}" has no run function.`)
  }
  return {
    name,
    description,
    parameters: parametersOf(name, input),
    timeoutMs: timeoutMs(`timeoutMs of tool "${name}"`, definition.timeoutMs ?? DEFAULT_TOOL_TIMEOUT_MS),
    retries: definition.retries ?? DEFAULT_RETRIES,
    isTransient: definition.isTransient ?? isTransientError,
    idempotent: definition.idempotent ?? false,
    sequential: definition.sequential ?? false,
    concurrency: definition.concurrency ?? Number.POSITIVE_INFINITY,
    repeatable: definition.repeatable ?? false,
    maxResultTokens: definition.maxResultTokens ?? DEFAULT_MAX_RESULT_TOKENS,
    onlyWhen: definition.onlyWhen ?? (() => true),
    ...(definition.render === undefined ? {} : { render: definition.render }),
    needsApproval:
      typeof needsApproval === 'function' ? (args) => needsApproval(args as z.output<Schema>) : needsApproval,
    parse: (args) => parse(input, args),
    run: (args, context) => definition.run(args as z.output<Schema>, context),
  }
}

function parametersOf(name: string, input: ZodType): JsonSchema {
  // Schemas of zod 4 carry their definition here; those of zod 3 and plain JSON Schemas do not.
  if (typeof input !== 'object' || input === null || !('_zod' in input)) {
    throw new MisuseError(
      'invalid_tool',
      `Tool "${name}": input must be a schema of zod 4, such as z.object({ … }).`,
    )
  }
  let schema: JsonSchema
  try {
    schema = toJSONSchema(input, { io: 'input' }) as JsonSchema
  } catch (cause) {
    throw new MisuseError(
      'invalid_tool',
      `Tool "${name}": its input cannot be shown to a model as JSON Schema (${messageOf(cause)}). ` +
        'Use a schema whose input is plain JSON, and convert inside run.',
      { cause },
    )
  }
  if (schema.type !== 'object') {
    throw new MisuseError(
      'invalid_tool',
      `Tool "${name}": input must be an object schema such as z.object({ … }), because providers accept nothing else.`,
    )
  }
  const { $schema: _dialect, ...parameters } = schema
  return parameters
}

function parse(input: ZodType, args: unknown): ParsedArguments | Promise<ParsedArguments> {
  try {
    return parsedFrom(input.safeParse(args))
  } catch (thrown) {
    // Schemas with asynchronous refinements or transforms say so only when they are used.
    if (thrown instanceof core.$ZodAsyncError) return input.safeParseAsync(args).then(parsedFrom)
    throw thrown
  }
}

function parsedFrom(result: ZodSafeParseResult<unknown>): ParsedArguments {
  if (result.success) return { ok: true, value: result.data }
  return {
    ok: false,
    issues: result.error.issues.map((issue) => {
      const path = issue.path.map(String).join('.')
      return path === '' ? issue.message : `${path}: ${issue.message}`
    }),
  }
}
