import { toJSONSchema, type ZodType } from 'zod'
import { MisuseError, messageOf } from './errors.ts'
import { type ReadResult, readJson } from './messages/readJson.ts'
import type { ModelReply } from './messages/reply.ts'
import type { JsonSchema } from './messages/types.ts'
import type { ResponseFormat } from './models/model.ts'

/** The form in which an agent wants its answers. */
export interface OutputFormat<Output> {
  /** What a provider is asked for. */
  readonly responseFormat: ResponseFormat
  /** What the model is told, for providers that cannot be held to a schema. */
  readonly instructions: string
  read(text: string): ReadResult<Output>
}

/**
 * The form that a zod object describes.
 *
 * @throws MisuseError `invalid_output` where the schema is not an object, or JSON Schema cannot express it.
 */
export function outputFormat<Output>(output: ZodType<Output>): OutputFormat<Output> {
  const schema = schemaOf(output)
  return {
    responseFormat: { type: 'json_schema', name: 'answer', schema },
    instructions:
      'When you give your final answer, write nothing but one JSON object that fits this JSON Schema: ' +
      JSON.stringify(schema),
    read(text) {
      const json = readJson(text)
      if (!json.ok) return { ok: false, problem: asked(`is not JSON: ${json.problem}`) }
      const parsed = safelyParsed(output, json.value)
      if (parsed.success) return { ok: true, value: parsed.data }
      if (!('error' in parsed))
        return { ok: false, problem: asked(`could not be checked: ${parsed.message}`) }
      const issues = parsed.error.issues.map(
        ({ path, message }) => `${path.map(String).join('.') || 'it'}: ${message}`,
      )
      return { ok: false, problem: asked(`does not fit its schema: ${issues.join('; ')}`) }
    },
  }
}

/** A schema's own code may throw, and one with asynchronous checks does. */
function safelyParsed<Output>(output: ZodType<Output>, value: unknown) {
  try {
    return output.safeParse(value)
  } catch (thrown) {
    return { success: false, message: messageOf(thrown) } as const
  }
}

/** Marks a final answer that is not of the form. Replies with calls, or without text, are judged elsewhere. */
export function checkForm(reply: ModelReply, format: OutputFormat<unknown>): ModelReply {
  if (reply.toolCalls.length > 0 || reply.text.trim() === '' || reply.problem !== undefined) return reply
  const read = format.read(reply.text)
  return read.ok ? reply : { ...reply, problem: read.problem }
}

function asked(flaw: string): string {
  return `Your answer ${flaw}. Write nothing but one JSON object that fits the schema you were given.`
}

function schemaOf(output: ZodType): JsonSchema {
  try {
    const { $schema: _dialect, ...schema } = toJSONSchema(output, { io: 'input' })
    if (schema.type === 'object') return schema
  } catch (cause) {
    throw new MisuseError(
      'invalid_output',
      `The output schema cannot be shown to a model as JSON Schema: ${messageOf(cause)}`,
      { cause },
    )
  }
  throw new MisuseError('invalid_output', 'The output must be an object schema such as z.object({ … }).')
}
