import { type Fields, fieldsOf } from '../../messages/fields.ts'
import { objectsIn, parsedJson, repairedJson, withoutThoughts } from '../../messages/jsonObjects.ts'
import { AnswerStream } from './answerStream.ts'
import { reminder } from './instructions.ts'
import { namesFinalAnswer, toolNamed } from './words.ts'

/** How much of a reply that cannot be read is shown back to the model, in characters. */
const SHOWN_REPLY = 120

/** What the model wants, as far as its text says. */
export type Directive =
  | {
      readonly kind: 'action'
      readonly name: string
      /** JSON text, as far as the model wrote JSON. */
      readonly arguments: string
      readonly thought?: string
    }
  | { readonly kind: 'answer'; readonly text: string }
  /** The reply was cut off at the output limit; `text` is what there is of an answer. */
  | { readonly kind: 'cut'; readonly text: string }
  | { readonly kind: 'empty' }
  | { readonly kind: 'problem'; readonly problem: string }

export interface Reading {
  /** Whether the reply stopped at the output limit. */
  readonly wasCut: boolean
  /** The names of the tools that were offered. */
  readonly tools: readonly string[]
  /** Whether the action counts where there is a final answer as well. */
  readonly actionWins: boolean
  /** Whether text that is not of the form is an answer. */
  readonly plainAnswers: boolean
  /** Whether the final answer is a JSON object. */
  readonly structured: boolean
}

/** Reads a reply: the first object of the agreed form counts, and whatever follows it is ignored. */
export function readReply(given: string, reading: Reading): Directive {
  const text = withoutThoughts(given)
  if (text.trim() === '') return { kind: 'empty' }
  let foreign: Fields | undefined
  for (const { text: json, end } of objectsIn(text)) {
    const strict = parsedJson(json)
    // Repair would close what was cut off, and half an action must not run.
    if (strict === undefined && reading.wasCut) break
    const fields = fieldsOf(strict ?? repairedJson(json))
    if (isReply(fields)) {
      const directive = directiveOf(fields, reading)
      const isPartial = directive.kind === 'action' && end === 'open'
      return isPartial ? problem('its JSON object has no end', reading) : directive
    }
    if (Object.keys(fields).length > 0) foreign ??= fields
  }
  if (reading.wasCut) return { kind: 'cut', text: partialAnswer(text) }
  if (foreign !== undefined && 'thought' in foreign) return problem(NEITHER, reading)
  if (foreign !== undefined && reading.structured) return { kind: 'answer', text: JSON.stringify(foreign) }
  if (reading.plainAnswers) return { kind: 'answer', text: text.trim() }
  return problem(
    `it is not of the agreed form (it begins with ${JSON.stringify(beginningOf(text))})`,
    reading,
  )
}

const NEITHER = 'it has neither an "action" nor a "final_answer"'

function isReply(fields: Fields): boolean {
  return Object.hasOwn(fields, 'action') || Object.hasOwn(fields, 'final_answer')
}

function directiveOf(fields: Fields, reading: Reading): Directive {
  const { thought, action, action_input: input, final_answer: given } = fields
  const name = toolNamed(action, reading.tools)
  const isAnswer = name === undefined && namesFinalAnswer(action)
  const answer = answerText(given) ?? (isAnswer ? answerText(input) : undefined)
  if (name !== undefined && (answer === undefined || reading.actionWins)) {
    return {
      kind: 'action',
      name,
      arguments: argumentsText(input),
      ...(typeof thought === 'string' && thought.trim() !== '' ? { thought } : {}),
    }
  }
  return answer === undefined ? problem(NEITHER, reading) : { kind: 'answer', text: answer }
}

function answerText(answer: unknown): string | undefined {
  if (answer === undefined || answer === null) return undefined
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  return text.trim() === '' ? undefined : text
}

/** Text is passed on as it is, so that what is wrong with it is told by the tool's own check. */
function argumentsText(input: unknown): string {
  if (input === undefined || input === null || input === '') return '{}'
  if (typeof input !== 'string') return JSON.stringify(input)
  if (parsedJson(input) !== undefined) return input
  const repaired = input.trimStart().startsWith('{') ? repairedJson(input) : undefined
  return repaired === undefined ? input : JSON.stringify(repaired)
}

function partialAnswer(text: string): string {
  return text.includes('{') ? new AnswerStream(() => false).add(text) : text
}

function problem(flaw: string, { tools }: Reading): Directive {
  return {
    kind: 'problem',
    problem: `Your last reply was discarded: ${flaw}. ${reminder(tools.length > 0)}`,
  }
}

function beginningOf(text: string): string {
  return text.trim().slice(0, SHOWN_REPLY).toWellFormed()
}
