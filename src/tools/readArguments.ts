import { messageOf } from '../errors.ts'
import { isFields } from '../messages/fields.ts'
import { repairedJson } from '../messages/jsonObjects.ts'
import { toolError } from '../messages/toolTexts.ts'
import type { ToolCall } from '../messages/types.ts'
import { isThenable, within } from '../thenables.ts'
import { argumentsJson } from './argumentsJson.ts'
import { unwrapStrings } from './schema/unwrapStrings.ts'
import type { ParsedArguments, Tool, ToolResult } from './tool.ts'

/** Arguments to run with, or what is wrong with them, in words for the model. */
export type ReadArguments =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly result: ToolResult }

/**
 * Arguments parsed and validated, or the error that tells the model what to mend. Blank arguments are an empty object.
 * What does not fit is tried once more with the objects and arrays that were sent as strings. Rejects with what the
 * schema's own code throws.
 */
export async function readArguments(call: ToolCall, tool: Tool): Promise<ReadArguments> {
  const text = call.function.arguments
  let json: unknown
  try {
    json = text.trim() === '' ? {} : argumentsJson(text)
  } catch (error) {
    json = tool.repairArguments === true ? repaired(text) : undefined
    if (json === undefined) return notJson(tool, text, error)
  }
  const parsed = await parsedOrUnwrapped(tool, json)
  if (parsed.ok) return parsed
  const facts = { name: tool.name, issues: parsed.issues, sent: text }
  return { ok: false, result: toolError('invalid_arguments', facts) }
}

async function parsedOrUnwrapped(tool: Tool, json: unknown): Promise<ParsedArguments> {
  const parsed = await validated(tool, json)
  if (parsed.ok) return parsed
  const unwrapped = unwrapStrings(json, tool.parameters, valueIn)
  return unwrapped === json ? parsed : await validated(tool, unwrapped)
}

/** A schema that never answers holds a call no longer than its tool would. */
function validated(tool: Tool, json: unknown): ParsedArguments | Promise<ParsedArguments> {
  const parsed = tool.parse(json)
  return isThenable(parsed) ? within(tool.timeoutMs, parsed) : parsed
}

function valueIn(text: string): unknown {
  try {
    return argumentsJson(text)
  } catch {
    return undefined
  }
}

/** What a library makes of a text, where that is an object: nearly any text can be made a JSON string. */
function repaired(text: string): unknown {
  const value = repairedJson(text)
  return isFields(value) ? argumentsJson(JSON.stringify(value)) : undefined
}

function notJson(tool: Tool, text: string, error: unknown): ReadArguments {
  const facts = { name: tool.name, problem: messageOf(error), sent: text, schema: tool.parameters }
  return { ok: false, result: toolError('invalid_json', facts) }
}
