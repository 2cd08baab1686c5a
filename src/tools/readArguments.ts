import { messageOf } from '../errors.ts'
import { repairedJson } from '../messages/jsonObjects.ts'
import type { ToolCall } from '../messages/types.ts'
import { argumentsJson } from './argumentsJson.ts'
import { unwrapStrings } from './schema/unwrapStrings.ts'
import type { ParsedArguments, Tool, ToolErrorCode } from './tool.ts'

/** How much of the arguments is shown back to the model, in characters. */
const SHOWN_ARGUMENTS = 300

/** How much of a schema is shown to the model, in characters: it is in the request as well. */
const SHOWN_SCHEMA = 4000

/** How many issues of a schema are shown to the model. */
const SHOWN_ISSUES = 20

/** How long a line that tells an issue may be, in characters. */
const SHOWN_ISSUE = 300

/** Arguments to run with, or what is wrong with them, in words for the model. */
export type ReadArguments =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: ToolErrorCode; readonly text: string }

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
  return {
    ok: false,
    error: 'invalid_arguments',
    text:
      `The arguments of ${tool.name} do not fit its schema. The tool was not run.\n${listOf(parsed.issues)}\n` +
      `You sent: ${shorten(text, SHOWN_ARGUMENTS)}\nMend this and call the tool again.`,
  }
}

async function parsedOrUnwrapped(tool: Tool, json: unknown): Promise<ParsedArguments> {
  const parsed = await tool.parse(json)
  if (parsed.ok) return parsed
  const unwrapped = unwrapStrings(json, tool.parameters, valueIn)
  return unwrapped === json ? parsed : await tool.parse(unwrapped)
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
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? argumentsJson(JSON.stringify(value)) : undefined
}

function notJson(tool: Tool, text: string, error: unknown): ReadArguments {
  return {
    ok: false,
    error: 'invalid_json',
    text:
      `The arguments of ${tool.name} are not valid JSON (${messageOf(error)}). The tool was not run. ` +
      `You sent: ${shorten(text, SHOWN_ARGUMENTS)}\nSend one JSON object that fits this schema: ` +
      shorten(JSON.stringify(tool.parameters), SHOWN_SCHEMA),
  }
}

function listOf(issues: readonly string[]): string {
  const lines = issues.slice(0, SHOWN_ISSUES).map((issue) => `- ${shorten(issue, SHOWN_ISSUE)}`)
  const more = issues.length - lines.length
  return [...lines, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n')
}

/** The beginning and the end of a text: where one is cut off is of interest too. */
function shorten(text: string, most: number): string {
  if (text.length <= most) return text
  const tail = Math.floor(most / 4)
  return `${text.slice(0, most - tail)} … ${text.slice(-tail)} (${text.length} characters)`
}
