import { fieldsOf } from '../../messages/fields.ts'
import type { JsonSchema } from '../../messages/types.ts'
import { formsOf, kindsOf, propertiesOf, takes } from './places.ts'

/** Keywords that strict mode takes as they are. https://developers.openai.com/api/docs/guides/structured-outputs */
const KEPT: ReadonlySet<string> = new Set([
  'type',
  'title',
  'description',
  'enum',
  'const',
  'format',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
])

/** Keywords that say nothing of which values fit: left out. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  'id',
  '$comment',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
])

const FORMATS: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
])

const LOOKAROUND = /\(\?<?[=!]/

/** Something that strict mode cannot express; caught where the rewriting began. */
class Inexpressible extends Error {}

/**
 * The schema as OpenAI's strict mode takes it: all keys required, no others allowed, what may be left out may be
 * `null` instead. `undefined` where strict mode cannot express it: records and other open objects, tuples, values of
 * any kind, `allOf`, `not`, `uniqueItems`, formats and patterns that are refused.
 */
export function strictSchema(schema: JsonSchema): JsonSchema | undefined {
  try {
    return rewritten(schema.properties === undefined ? { ...schema, properties: {} } : schema, schema)
  } catch (thrown) {
    if (thrown instanceof Inexpressible) return undefined
    throw thrown
  }
}

function rewritten(given: unknown, root: JsonSchema): JsonSchema {
  const schema = fieldsOf(given)
  if ('$ref' in schema) return reference(schema)
  if ('anyOf' in schema || 'oneOf' in schema) return choice(schema, root)
  const kinds = kindsOf(schema)
  if (kinds === undefined) throw new Inexpressible()
  const kept = keptOf(schema, ['pattern', 'properties', 'required', 'additionalProperties', 'items'])
  return {
    ...(schema.type === undefined ? { type: kinds.size === 1 ? [...kinds][0] : [...kinds] } : {}),
    ...kept,
    ...patternOf(schema),
    ...(kinds.has('object') ? closedObject(schema, root) : {}),
    ...(kinds.has('array') ? { items: rewritten(schema.items, root) } : {}),
    ...definitionsOf(schema, root),
  }
}

/** A reference may have nothing beside it, so what describes it goes around it. */
function reference(schema: JsonSchema): JsonSchema {
  const { $ref, ...beside } = schema
  if (typeof $ref !== 'string' || !/^#(?:$|\/(?:\$defs|definitions)\/[^/]+$)/.test($ref)) {
    throw new Inexpressible()
  }
  const described = keptOf(beside)
  return Object.keys(described).length === 0 ? { $ref } : { ...described, anyOf: [{ $ref }] }
}

/** `oneOf` is refused; `anyOf` asks for less, and the arguments are validated here in any case. */
function choice(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const { anyOf, oneOf, ...beside } = schema
  const branches = anyOf ?? oneOf
  if (!Array.isArray(branches) || (anyOf !== undefined && oneOf !== undefined)) throw new Inexpressible()
  const described = keptOf(beside)
  const isOnlyDescribed = Object.keys(described).every((key) => key === 'title' || key === 'description')
  if (!isOnlyDescribed) throw new Inexpressible()
  return { ...described, anyOf: branches.map((branch) => rewritten(branch, root)) }
}

function closedObject(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const { properties, additionalProperties = false } = schema
  if (properties === undefined || additionalProperties !== false) throw new Inexpressible()
  const entries = propertiesOf({ schema, root }).map(({ key, schema: property, optional }) => {
    const strict = rewritten(property, root)
    return [key, optional && !takesNull(property, root) ? nullable(strict) : strict] as const
  })
  return {
    properties: Object.fromEntries(entries),
    required: entries.map(([key]) => key),
    additionalProperties: false,
  }
}

/** Whether `null` is itself one of the values that a schema wants. */
export function takesNull(schema: unknown, root: JsonSchema): boolean {
  return formsOf(schema, root).some((form) => takes(form, 'null'))
}

function nullable({ title, description, ...schema }: JsonSchema): JsonSchema {
  const isChoice = Array.isArray(schema.anyOf) && Object.keys(schema).length === 1
  const branches: readonly unknown[] = isChoice ? (schema.anyOf as readonly unknown[]) : [schema]
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    anyOf: [...branches, { type: 'null' }],
  }
}

/** Keywords to keep; those named are the caller's to see to, and any that is unknown is refused. */
function keptOf(schema: JsonSchema, elsewhere: readonly string[] = []): JsonSchema {
  const kept = Object.entries(schema).filter(([keyword, value]) => {
    if (ANNOTATIONS.has(keyword) || keyword.startsWith('x-')) return false
    if (elsewhere.includes(keyword) || keyword === '$defs' || keyword === 'definitions') return false
    if (!KEPT.has(keyword) || (keyword === 'format' && !FORMATS.has(value))) throw new Inexpressible()
    return true
  })
  return Object.fromEntries(kept)
}

/** Patterns with lookaround are refused. Where a format says the same, as with zod's e-mail, it is enough. */
function patternOf({ pattern, format }: JsonSchema): JsonSchema {
  if (pattern === undefined) return {}
  if (typeof pattern === 'string' && !LOOKAROUND.test(pattern)) return { pattern }
  if (format === undefined) throw new Inexpressible()
  return {}
}

function definitionsOf(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const rewrittenIn = (keyword: '$defs' | 'definitions'): JsonSchema =>
    schema[keyword] === undefined
      ? {}
      : {
          [keyword]: Object.fromEntries(
            Object.entries(fieldsOf(schema[keyword])).map(([name, entry]) => [name, rewritten(entry, root)]),
          ),
        }
  return { ...rewrittenIn('$defs'), ...rewrittenIn('definitions') }
}
