import type { JsonSchema } from './types.ts'

/** How much of what the model sent is shown back to it, in characters. */
const SHOWN_ARGUMENTS = 300
/** How much of that is its end. */
const SHOWN_TAIL = 100

/** How much of a tool's name that does not exist is shown back, in characters. */
const SHOWN_NAME = 100

/** How much of a schema is shown with a call that cannot be read, in characters. The model has all of it anyway. */
const SHOWN_SCHEMA = 4000

/** How many issues of a schema, and how many names of tools, are shown. */
const SHOWN_ISSUES = 20
const SHOWN_ISSUE = 500
const SHOWN_TOOLS = 50

/** How much of what a tool threw is shown, in characters. */
const SHOWN_PROBLEM = 4000

/** Why a tool call did not succeed, and what is needed to say so. */
export interface ToolErrorFacts {
  unknown_tool: { readonly name: string; readonly available: readonly string[] }
  invalid_json: {
    readonly name: string
    /** What the parser says. */
    readonly problem: string
    readonly sent: string
    readonly schema: JsonSchema
  }
  invalid_arguments: { readonly name: string; readonly issues: readonly string[]; readonly sent: string }
  truncated: NoFacts
  waiting: NoFacts
  denied: { readonly reason?: string | undefined }
  /** After how long it was given up, or what it threw because something else took too long. */
  timeout: { readonly name: string } & ({ readonly timeoutMs: number } | { readonly problem: string })
  cancelled: {
    readonly name?: string
    /** Whether it had begun. Absent where that is not known. */
    readonly begun?: boolean
  }
  failed: {
    readonly name?: string
    /** What the tool threw, in words. */
    readonly problem: string
  }
  in_doubt: {
    /** What a person says of it. */
    readonly reason?: string | undefined
  }
  /** The limit of tool calls. */
  limit_reached: {
    /** That of the limit of tool calls, where it is that one. */
    readonly max?: number
  }
  /** The same call was made too often. */
  repeated: {
    /** What to do instead. */
    readonly advice: string
  }
}

type NoFacts = Readonly<Record<string, never>>

export type ToolErrorCode = keyof ToolErrorFacts

/** The answer to a call that did not succeed. */
export interface ToolErrorAnswer {
  readonly error: ToolErrorCode
  readonly content: string
}

/** A call's error as the model sees it: a fixed opening with the code, what was wrong, and what to do about it. */
export function toolError<Code extends ToolErrorCode>(
  error: Code,
  facts: ToolErrorFacts[Code],
): ToolErrorAnswer {
  return { error, content: `Error (${error}): ${toolTexts[error](facts)}`.toWellFormed() }
}

/** What the model is told, by code: what was wrong, whether the tool ran, what was expected, what to do next. */
export const toolTexts: { readonly [Code in ToolErrorCode]: (facts: ToolErrorFacts[Code]) => string } = {
  unknown_tool: ({ name, available }) =>
    `There is no tool named ${JSON.stringify(shorten(name, SHOWN_NAME))}. ` +
    (available.length === 0
      ? 'No tools are available. Answer without one.'
      : `Available tools: ${namesOf(available)}.\nCall one of these by its exact name, or answer without a tool.`),

  invalid_json: ({ name, problem, sent, schema }) =>
    `The arguments of ${name} are not valid JSON (${problem}). The tool was not run.\n` +
    `You sent: ${excerpt(sent)}\n` +
    `Expected: one JSON object that fits this schema: ${shorten(JSON.stringify(schema), SHOWN_SCHEMA)}\n` +
    'Write the arguments as JSON and call the tool again.',

  invalid_arguments: ({ name, issues, sent }) =>
    `The arguments of ${name} do not fit its schema. The tool was not run.\n` +
    `${listOf(issues)}\n` +
    `You sent: ${excerpt(sent)}\n` +
    'Mend what is listed, keep the rest, and call the tool again.',

  truncated: () =>
    'Your reply was cut off at the output limit, so this call may be incomplete and was not run.\n' +
    'Make a smaller call, or split the work over several calls.',

  waiting: () =>
    'This call needs the approval of a person, who has not decided yet. It was not run.\n' +
    'Do not repeat it; go on with what does not depend on it.',

  denied: ({ reason }) =>
    `A person did not allow this call, and it was not run.${reason ? ` Reason: ${reason}` : ''}\n` +
    'Do not make the same call again; go another way, or say what cannot be done without it.',

  timeout: (facts) =>
    ('timeoutMs' in facts
      ? `${facts.name} did not finish within ${facts.timeoutMs} ms and was given up.`
      : `${facts.name} timed out: ${shorten(facts.problem, SHOWN_PROBLEM)}.`) +
    ' It may still have had an effect.\n' +
    'Check whether it did before you repeat it, and ask for less at once.',

  cancelled: ({ name = 'this call', begun }) =>
    begun === false
      ? `The run was stopped before ${name} began. It was not run.\nCall it again if it is still wanted.`
      : `The run was stopped before ${name} finished. It may or may not have had an effect.\n` +
        'Check whether it did before you repeat it.',

  failed: ({ name, problem }) =>
    `${name === undefined ? '' : `${name} failed: `}${shorten(problem, SHOWN_PROBLEM)}\n` +
    'Change the arguments or go another way; the same call may fail again.',

  in_doubt: ({ reason }) =>
    'The process stopped while this call ran, so it is unknown whether it had an effect. It was not run again.\n' +
    (reason ? `A person says: ${reason}` : 'Check whether it did before you repeat it.'),

  limit_reached: ({ max }) =>
    `${max === undefined ? 'The run has reached a limit' : `All ${max} tool calls of this run are used up`}, and this one was not run.\n` +
    'Answer from what is known, and say what is missing.',

  repeated: ({ advice }) => `The same call was made before, and this one was not run.\n${advice}`,
}

function namesOf(names: readonly string[]): string {
  const more = names.length - SHOWN_TOOLS
  return names.slice(0, SHOWN_TOOLS).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

function listOf(issues: readonly string[]): string {
  const more = issues.length - SHOWN_ISSUES
  const lines = issues.slice(0, SHOWN_ISSUES).map((issue) => `- ${shorten(issue, SHOWN_ISSUE)}`)
  return [...lines, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n')
}

/** The beginning and the end of what the model sent: where it breaks off is of interest too. */
function excerpt(text: string): string {
  if (text.length <= SHOWN_ARGUMENTS) return text
  const tail = text.slice(-SHOWN_TAIL).replace(/^[\udc00-\udfff]/, '')
  return `${shorten(text, SHOWN_ARGUMENTS - SHOWN_TAIL)} … ${tail}`
}

/** The surrogate that a cut may leave alone is dropped with it. */
function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  return `${text.slice(0, length).replace(/[\ud800-\udbff]$/, '')}… (${text.length} characters)`
}
