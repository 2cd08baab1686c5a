import { parsedJson } from '../messages/jsonObjects.ts'

/** A tool call that is settled, as it is put into words for the model. */
export interface AnsweredCall {
  readonly tool: string
  /** JSON text, as the model wrote it. */
  readonly arguments: string
  /** The result; where the call did not succeed, what went wrong and what to do, beginning with `Error (code): `. */
  readonly content: string
  /** Why it did not succeed, such as `unknown_tool`; absent where it did. The codes are in docs/tools.md. */
  readonly error?: string
  /** What a limit warns of, such as that the call has been made before. */
  readonly note?: string
}

/** The text of a tool message. Pure, as a resumed run asks for it again. */
export type ResultFormat = (call: AnsweredCall) => string

/** The content, and the note below it: what an agent shows unless it is given another format. */
export const plainResult: ResultFormat = ({ content, note }) =>
  note === undefined ? content : `${content}\n\n${note}`

/**
 * Each result as a JSON object: `{"success": true, "result": …}` or `{"success": false, "error": "…"}`. A result that is
 * JSON itself stands in it as a value. What a limit warns of is added as `note`.
 */
export const resultEnvelope: ResultFormat = ({ content, error, note }) => {
  const parts = error === undefined ? ['"success":true', `"result":${jsonOf(content)}`] : failure(content)
  return `{${[...parts, ...(note === undefined ? [] : [`"note":${JSON.stringify(note)}`])].join(',')}}`
}

function failure(content: string): readonly string[] {
  return ['"success":false', `"error":${JSON.stringify(content)}`]
}

/** JSON stays as it is written: read and written again, long numbers would lose digits. */
function jsonOf(content: string): string {
  return parsedJson(content) === undefined ? JSON.stringify(content) : content.trim()
}

/** A format of the user's, fit for a loop whose reducers must not throw: where it fails, the plain form stands in for it. */
export function totalFormat(own: ResultFormat): ResultFormat {
  return (call) => {
    try {
      const text: unknown = own(call)
      if (typeof text === 'string') return text
    } catch {
      // The plain form stands in for it.
    }
    return plainResult(call)
  }
}
