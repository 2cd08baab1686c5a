import { MisuseError } from '../errors.ts'
import { isToolName } from '../messages/sendable.ts'
import type { JsonSchema } from '../messages/types.ts'
import { timeoutMs } from '../timeouts.ts'
import { waitsMs } from '../waits.ts'
import { isTransientError } from './isTransientError.ts'
import { inputSchema } from './schema/inputSchema.ts'
import { issueLines } from './schema/issueLines.ts'
import type { StandardResult, StandardSchema } from './schema/standardSchema.ts'
import { strictSchema } from './schema/strictSchema.ts'
import { withoutNulls } from './schema/withoutNulls.ts'
import type { ParsedArguments, StepFacts, Tool, ToolContext } from './tool.ts'

/** Milliseconds after which a tool call is given up, unless the tool says otherwise. */
export const DEFAULT_TOOL_TIMEOUT_MS = 30_000
/** How often a call is tried again after an error that may pass, unless the tool says otherwise. */
const DEFAULT_RETRIES = 1
/** Tokens of a result that enter the transcript, unless the tool says otherwise. */
const DEFAULT_MAX_RESULT_TOKENS = 8000

export interface ToolDefinition<Arguments = Record<string, unknown>> {
  /** How the model calls it: 1 to 64 letters, digits, `_` or `-`. */
  readonly name: string
  /** What it does and when to use it, for the model. */
  readonly description: string
  /**
   * What the arguments have to be; they are validated with it before `run` is called. An object schema of zod 4, an
   * object schema of another Standard Schema library that tells its JSON Schema (arktype; valibot with
   * `toStandardJsonSchema`), or a plain JSON Schema. For the last, name the type: `defineTool<{ city: string }>`.
   */
  readonly input: StandardSchema<Arguments> | JsonSchema
  /** JSON Schema that the model is shown in place of the one that `input` tells. Default: that of `input`. */
  readonly parameters?: JsonSchema
  /**
   * Whether the provider is asked to hold the model to the schema, by OpenAI's strict mode: what may be left out is
   * sent as `null` and taken for left out, defaults apply. A schema that strict mode cannot express switches it off;
   * `strict` of the tool tells. Default: false.
   */
  readonly strict?: boolean
  /**
   * Whether arguments that are not JSON may be repaired by a library, which guesses. Arguments that were cut off with
   * their reply never are. Default: false.
   */
  readonly repairArguments?: boolean
  /** Milliseconds after which a call is given up; its signal is aborted. Default: 30000. */
  readonly timeoutMs?: number
  /** How often a call is tried again after an error that may pass. Default: 1, or as often as `retryDelaysMs` has waits. */
  readonly retries?: number
  /**
   * Milliseconds to wait before each retry, such as `[500, 1000, 2000]`; the last one holds for all further ones. Default:
   * exponential back-off with jitter, from at most 200 ms up to 5 s.
   */
  readonly retryDelaysMs?: readonly number[]
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
  /**
   * The same in characters, where that is what has to be bounded; the note of the gap is one of them. It bounds what the
   * tool returns, not the text of an error, nor what a `resultFormat` adds. Default: no bound.
   */
  readonly maxResultCharacters?: number
  /** Whether the tool is offered in a step. Default: always. */
  readonly onlyWhen?: (facts: StepFacts) => boolean
  /** What the model is shown of what `run` returned. Default: a string as it is, anything else as JSON. */
  readonly render?: (value: unknown) => string
  /** Whether running twice with one `idempotencyKey` is harmless. Default: false. */
  readonly idempotent?: boolean
  /** Whether a person has to approve a call before it runs. Default: false. */
  readonly needsApproval?: boolean | ((args: Arguments) => boolean | Promise<boolean>)
  /**
   * Does the work. What it returns is shown to the model: a string as it is, anything else as JSON. What it throws
   * is shown to the model as an error.
   */
  readonly run: (args: Arguments, context: ToolContext) => unknown
}

/**
 * Defines a tool.
 *
 * @throws MisuseError `invalid_tool` for a bad name or number, a schema that is not an object, or one that JSON
 * Schema cannot express; `invalid_timeout` for a bad timeout.
 */
export function defineTool<Arguments = Record<string, unknown>>(definition: ToolDefinition<Arguments>): Tool {
  const { name, description, needsApproval = false, idempotent = false } = definition
  if (typeof name !== 'string' || !isToolName(name)) {
    throw new MisuseError(
      'invalid_tool',
      `Tool name ${JSON.stringify(name)} is not valid: use 1 to 64 letters, digits, "_" or "-".`,
    )
  }
  if (typeof definition.run !== 'function') {
    throw new MisuseError('invalid_tool', `Tool "${name}" has no run function.`)
  }
  const { retryDelaysMs: waits } = definition
  const retryDelaysMs = waits === undefined ? undefined : waitsMs(`retryDelaysMs of tool "${name}"`, waits)
  return {
    name,
    description,
    ...argumentsOf(definition),
    repairArguments: definition.repairArguments ?? false,
    timeoutMs: timeoutMs(`timeoutMs of tool "${name}"`, definition.timeoutMs ?? DEFAULT_TOOL_TIMEOUT_MS),
    ...countsOf(definition),
    ...(retryDelaysMs === undefined ? {} : { retryDelaysMs }),
    isTransient: definition.isTransient ?? ((error) => isTransientError(error, idempotent)),
    idempotent,
    sequential: definition.sequential ?? false,
    repeatable: definition.repeatable ?? false,
    onlyWhen: definition.onlyWhen ?? (() => true),
    ...(definition.render === undefined ? {} : { render: definition.render }),
    needsApproval:
      typeof needsApproval === 'function' ? (args) => needsApproval(args as Arguments) : needsApproval,
    run: (args, context) => definition.run(args as Arguments, context),
  }
}

type ArgumentsPart = Pick<Tool, 'parameters' | 'parse'> & { readonly strict: boolean }

/** What the model is shown of the arguments, and how what it sends is read. */
function argumentsOf({
  name,
  input,
  parameters: given,
  strict: wanted = false,
}: Pick<ToolDefinition, 'name' | 'parameters' | 'strict'> & { readonly input: unknown }): ArgumentsPart {
  const { parameters, validate } = inputSchema(name, input, given)
  const strict = wanted ? strictSchema(parameters) : undefined
  if (strict === undefined) {
    return { parameters, strict: false, parse: (args) => parsed(validate(args), args) }
  }
  return {
    parameters: strict,
    strict: true,
    parse: (args) => {
      const meant = withoutNulls(args, parameters)
      return parsed(validate(meant), meant)
    },
  }
}

function parsed(
  result: StandardResult | Promise<StandardResult>,
  args: unknown,
): ParsedArguments | Promise<ParsedArguments> {
  if (result instanceof Promise) return result.then((settled) => parsed(settled, args))
  return result.issues === undefined
    ? { ok: true, value: result.value }
    : { ok: false, issues: issueLines(result.issues, args) }
}

type Counts = Pick<
  ToolDefinition,
  'name' | 'retries' | 'retryDelaysMs' | 'concurrency' | 'maxResultTokens' | 'maxResultCharacters'
>

function countsOf({
  name,
  retryDelaysMs,
  retries = retryDelaysMs?.length ?? DEFAULT_RETRIES,
  concurrency = Number.POSITIVE_INFINITY,
  maxResultTokens = DEFAULT_MAX_RESULT_TOKENS,
  maxResultCharacters,
}: Counts): Pick<Tool, 'retries' | 'concurrency' | 'maxResultTokens' | 'maxResultCharacters'> {
  const check = (option: string, value: number, least: number, mayBeInfinite = false): void => {
    if ((Number.isInteger(value) && value >= least) || (mayBeInfinite && value === Number.POSITIVE_INFINITY))
      return
    throw new MisuseError(
      'invalid_tool',
      `Tool "${name}": ${option} must be a whole number of at least ${least}${mayBeInfinite ? ', or Infinity' : ''}, ` +
        `not ${String(value)}.`,
    )
  }
  check('retries', retries, 0)
  check('concurrency', concurrency, 1, true)
  check('maxResultTokens', maxResultTokens, 1)
  if (maxResultCharacters !== undefined) check('maxResultCharacters', maxResultCharacters, 1)
  return {
    retries,
    concurrency,
    maxResultTokens,
    ...(maxResultCharacters === undefined ? {} : { maxResultCharacters }),
  }
}
