import { type Fields, fieldsOf, isFields } from '../../messages/fields.ts'
import { parsedJson } from '../../messages/jsonObjects.ts'
import type { CountText } from './valueTokens.ts'

/*
 * The overheads are those of "How to count tokens with tiktoken", where it counts tool calls:
 * https://developers.openai.com/cookbook/examples/how_to_count_tokens_with_tiktoken
 */

/** What surrounds all tools of a request together. */
export const TOOLS_OVERHEAD: number = 12
const TOOL_OVERHEAD = 7
/** The same for models before GPT-4o. */
const OLDER_TOOL_OVERHEAD = 10
const PROPERTIES_OVERHEAD = 3
const PROPERTY_OVERHEAD = 3
const ENUM_OVERHEAD = -3
const ENUM_ITEM_OVERHEAD = 3

/** Keywords under which schemas stand by name. */
const NAMED_SCHEMAS = ['properties', 'patternProperties', '$defs', 'definitions']

/** Keywords under which a schema stands, or a list of them. */
const SCHEMAS = ['items', 'prefixItems', 'additionalProperties', 'anyOf', 'oneOf', 'allOf', 'not']

/** Keywords that are counted by themselves, or that a model is not shown. */
const NO_OTHERS: ReadonlySet<string> = new Set([...NAMED_SCHEMAS, ...SCHEMAS, 'enum', 'required', '$schema'])

/**
 * Tokens of a tool as it is shown to the model: a line for the tool, and one for each parameter with its type and
 * description. The source says nothing of schemas within schemas, which are counted in the same way here, nor of other
 * keywords (`default`, `minimum`), which are counted as JSON text.
 *
 * @param isOlder Whether the model is one before GPT-4o.
 */
export function toolTokens(spec: unknown, isOlder: boolean, countText: CountText): number {
  const { name, description, parameters } = fieldsOf(spec)
  return (
    (isOlder ? OLDER_TOOL_OVERHEAD : TOOL_OVERHEAD) +
    countText(lineOf(name, description)) +
    parametersTokens(asSent(parameters), countText)
  )
}

/** What JSON leaves of the parameters: a tree that ends somewhere. */
function asSent(parameters: unknown): Fields {
  try {
    return fieldsOf(parsedJson(JSON.stringify(parameters) ?? ''))
  } catch {
    return {}
  }
}

/** Schemas wait in a list, so that no stack runs out however deep they lie in each other. */
function parametersTokens({ type: _, ...parameters }: Fields, countText: CountText): number {
  const waiting: Fields[] = [parameters]
  let tokens = 0

  const add = (schema: unknown, ...name: string[]): void => {
    const { type, description, ...rest } = fieldsOf(schema)
    tokens += countText(lineOf(...name, type, description))
    waiting.push(rest)
  }

  for (let schema = waiting.pop(); schema !== undefined; schema = waiting.pop()) {
    for (const keyword of NAMED_SCHEMAS) {
      const named = Object.entries(fieldsOf(schema[keyword]))
      if (named.length > 0) tokens += PROPERTIES_OVERHEAD + named.length * PROPERTY_OVERHEAD
      for (const [name, property] of named) add(property, name)
    }
    for (const keyword of SCHEMAS)
      for (const nested of [schema[keyword]].flat()) if (isFields(nested)) add(nested)
    tokens += enumTokens(schema.enum, countText) + otherTokens(schema, countText)
  }
  return tokens
}

function enumTokens(items: unknown, countText: CountText): number {
  if (!Array.isArray(items)) return 0
  return items.reduce(
    (sum: number, item: unknown) =>
      sum + ENUM_ITEM_OVERHEAD + countText(typeof item === 'string' ? item : JSON.stringify(item)),
    ENUM_OVERHEAD,
  )
}

function otherTokens(schema: Fields, countText: CountText): number {
  const others = Object.entries(schema).filter(([keyword]) => !NO_OTHERS.has(keyword))
  return others.length === 0 ? 0 : countText(JSON.stringify(Object.fromEntries(others)))
}

/** `name:type:description` of what is there, without the full stop at its end. */
function lineOf(...words: readonly unknown[]): string {
  return words
    .flat()
    .filter((word) => typeof word === 'string')
    .join(':')
    .replace(/\.$/, '')
}
