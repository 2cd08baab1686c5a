import { core, fromJSONSchema, registry, toJSONSchema } from 'zod'
import { MisuseError, messageOf } from '../../errors.ts'
import { fieldsOf } from '../../messages/fields.ts'
import type { JsonSchema } from '../../messages/types.ts'
import type { StandardResult, StandardSchema } from './standardSchema.ts'

/** What a tool's input was given as, made one. */
export interface InputSchema {
  /** JSON Schema of what the model has to send: an object, before defaults and transforms. */
  readonly parameters: JsonSchema
  /** May throw what a refinement or transform of the user's throws. */
  validate(args: unknown): StandardResult | Promise<StandardResult>
}

/**
 * Reads a zod schema, another Standard Schema or a plain JSON Schema. `parameters` takes the place of the JSON Schema
 * that the input itself would give.
 *
 * @throws MisuseError `invalid_tool` for anything else, for a schema that is not an object, and for one that JSON
 * Schema cannot express.
 */
export function inputSchema(tool: string, input: unknown, parameters?: JsonSchema): InputSchema {
  const read = readInput(input, parameters, (problem, cause) => {
    throw new MisuseError(
      'invalid_tool',
      `Tool "${tool}": ${problem}`,
      cause === undefined ? {} : { cause: cause.error },
    )
  })
  const schema = withRootInPlace(read.parameters)
  if (schema.type === 'object') return { ...read, parameters: schema }
  throw new MisuseError(
    'invalid_tool',
    `Tool "${tool}": input must be an object schema, such as z.object({ … }) or { type: 'object', … }, because ` +
      'providers accept nothing else.',
  )
}

type Refuse = (problem: string, cause?: { readonly error: unknown }) => never

function readInput(input: unknown, parameters: JsonSchema | undefined, refuse: Refuse): InputSchema {
  if ((typeof input !== 'object' && typeof input !== 'function') || input === null) {
    return refuse('input must be a schema: of zod 4, of another Standard Schema library, or a JSON Schema.')
  }
  // Schemas of zod 4 carry their definition here; those of zod 3 do not.
  if ('_zod' in input) return zodInput(input as core.$ZodType, parameters, refuse)
  if ('~standard' in input) return standardInput(input as StandardSchema, parameters, refuse)
  if ('_def' in input) return refuse(OLD_ZOD)
  return jsonSchemaInput(input, parameters, refuse)
}

const OLD_ZOD = 'input must be a schema of zod 4; this one is of zod 3, which has no JSON Schema.'

function zodInput(input: core.$ZodType, parameters: JsonSchema | undefined, refuse: Refuse): InputSchema {
  const validate = (args: unknown): StandardResult | Promise<StandardResult> => {
    try {
      return resultOf(core.safeParse(input, args))
    } catch (thrown) {
      // Schemas with asynchronous refinements or transforms say so only when they are used.
      if (thrown instanceof core.$ZodAsyncError) return core.safeParseAsync(input, args).then(resultOf)
      throw thrown
    }
  }
  if (parameters !== undefined) return { parameters: plainCopy(parameters, refuse), validate }
  try {
    return { parameters: toJSONSchema(input, { io: 'input' }) as JsonSchema, validate }
  } catch (error) {
    return refuse(
      `its input cannot be shown to a model as JSON Schema (${messageOf(error)}${placesOf(input)}). ` +
        'Use a schema whose input is plain JSON, and convert inside run.',
      { error },
    )
  }
}

function resultOf({ data, error }: core.util.SafeParseResult<unknown>): StandardResult {
  return error === undefined ? { value: data } : { issues: error.issues }
}

/** Where in a schema of zod the parts are that JSON Schema cannot express. */
function placesOf(input: core.$ZodType): string {
  const places = new Set<string>()
  try {
    toJSONSchema(input, {
      io: 'input',
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema, path }) => {
        const { type } = zodSchema._zod.def
        if (Object.keys(jsonSchema).length > 0 || type === 'any' || type === 'unknown') return
        places.add(path.filter((segment) => segment !== 'properties').join('.'))
      },
    })
  } catch {
    return ''
  }
  return places.size === 0 ? '' : `, at ${[...places].join(', ')}`
}

function standardInput(
  input: StandardSchema,
  parameters: JsonSchema | undefined,
  refuse: Refuse,
): InputSchema {
  const { '~standard': standard } = input
  const { vendor, validate } = standard
  if (parameters !== undefined) return { parameters: plainCopy(parameters, refuse), validate }
  if (standard.jsonSchema === undefined) {
    if (vendor === 'zod') return refuse(OLD_ZOD)
    return refuse(
      `its schema, of ${vendor}, does not tell its JSON Schema. Convert it (with valibot: toStandardJsonSchema of ` +
        '@valibot/to-json-schema), or give the JSON Schema by hand as `parameters`.',
    )
  }
  try {
    return {
      parameters: standard.jsonSchema.input({ target: 'draft-2020-12', ...optionsFor(vendor) }),
      validate,
    }
  } catch (error) {
    return refuse(
      `its input cannot be shown to a model as JSON Schema (${messageOf(error)}). Use a schema whose input is plain ` +
        'JSON, or give the JSON Schema by hand as `parameters`.',
      { error },
    )
  }
}

/** arktype would show dates, big integers and instances of classes as anything, rather than refuse. */
function optionsFor(vendor: string): { readonly libraryOptions?: Record<string, unknown> } {
  if (vendor !== 'arktype') return {}
  const refuse = ({ code }: { readonly code: string }): never => {
    throw new Error(`${code} cannot be represented in JSON Schema`)
  }
  return { libraryOptions: { fallback: { date: refuse, domain: refuse, proto: refuse } } }
}

function jsonSchemaInput(input: object, parameters: JsonSchema | undefined, refuse: Refuse): InputSchema {
  if (Object.values(input).some((value) => typeof value === 'object' && value !== null && '_zod' in value)) {
    return refuse('input must be one schema; wrap its fields in z.object({ … }).')
  }
  const schema = plainCopy(input, refuse)
  return zodInput(validatorOf(schema, refuse), parameters ?? schema, refuse)
}

function validatorOf(schema: JsonSchema, refuse: Refuse): core.$ZodType {
  try {
    return fromJSONSchema(schema, { registry: registry() })
  } catch (error) {
    return refuse(`its JSON Schema cannot be validated (${messageOf(error)}).`, { error })
  }
}

/** A copy that nobody else can change. */
function plainCopy(schema: object, refuse: Refuse): JsonSchema {
  try {
    return JSON.parse(JSON.stringify(schema)) as JsonSchema
  } catch (error) {
    return refuse(`its JSON Schema is not plain JSON (${messageOf(error)}).`, { error })
  }
}

/** The schema without its dialect. Where the root is but a reference, as of recursive types, what it points to. */
function withRootInPlace({ $schema: _dialect, ...schema }: JsonSchema): JsonSchema {
  const { $ref: ref, ...beside } = schema
  const name = typeof ref === 'string' ? /^#\/\$defs\/([^/]+)$/.exec(ref)?.[1] : undefined
  return name === undefined ? schema : { ...beside, ...fieldsOf(fieldsOf(schema.$defs)[name]) }
}
