import type { JsonSchema, ToolSpec } from '../../messages/types.ts'
import type { ModelRequest } from '../model.ts'

/** The JSON Schema of a reply: one form for each tool, and one for the answer. */
export function protocolSchema(
  tools: readonly ToolSpec[],
  { toolChoice, responseFormat }: Pick<ModelRequest, 'toolChoice' | 'responseFormat'>,
): JsonSchema {
  const answer = form({ thought: text, final_answer: answerSchema(responseFormat) })
  if (tools.length === 0) return answer
  const actions = tools.map(({ name, parameters }) =>
    form({ thought: text, action: { type: 'string', enum: [name] }, action_input: nested(parameters) }),
  )
  return { type: 'object', anyOf: toolChoice === 'required' ? actions : [...actions, answer] }
}

const text: JsonSchema = { type: 'string' }

/** Some servers take an object that names no properties for one that may have none. */
const anyObject: JsonSchema = { type: 'object', additionalProperties: true }

function form(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

function answerSchema(format: ModelRequest['responseFormat']): JsonSchema {
  if (format === undefined) return text
  return format.type === 'json_schema' ? nested(format.schema) : anyObject
}

/** References in a schema lead from its root, so a schema that has some cannot be put inside another. */
function nested(schema: JsonSchema): JsonSchema {
  return JSON.stringify(schema).includes('"$ref"') ? anyObject : schema
}
