import type { ToolSpec } from '../../messages/types.ts'
import type { ModelRequest } from '../model.ts'

const ANSWER_FORM = '{"thought": "your reasoning, in short", "final_answer": …}'

const ACTION_FORM =
  '{"thought": "your reasoning, in short", "action": "the name of a tool", "action_input": {…its arguments}}'

const ONE_OBJECT =
  'Your whole reply is exactly one JSON object: no text before or after it, no code fence. Every rule on how to word ' +
  'or format an answer is meant for the value of "final_answer".'

/** How to reply, in short, for a model that has replied otherwise. */
export function reminder(offersTools: boolean): string {
  return offersTools
    ? `Reply with exactly one JSON object: ${ACTION_FORM} to use a tool, or ${ANSWER_FORM} to answer.`
    : `Reply with exactly one JSON object: ${ANSWER_FORM}`
}

/**
 * What the model is told of the protocol and of the tools: the same text for the same tools, so that providers can
 * cache it.
 *
 * @param given What the system message says already.
 */
export function instructionsFor(
  { tools, toolChoice, responseFormat }: Pick<ModelRequest, 'tools' | 'toolChoice' | 'responseFormat'>,
  given: string,
): string {
  const answer = answerForm(responseFormat, given)
  if (tools.length === 0) {
    return [`# How to reply\n\n${ONE_OBJECT}\n\n${ANSWER_FORM}`, answer, 'You cannot use tools.'].join('\n\n')
  }
  return [
    `# How to reply\n\n${ONE_OBJECT} It has one of two forms.`,
    `To use a tool:\n${ACTION_FORM}`,
    `To answer:\n${ANSWER_FORM}`,
    answer,
    'Use one tool at a time, and write nothing after its object: the next message begins with "Observation from" ' +
      'and says what the tool returned. Never write an observation yourself.',
    ...(toolChoice === 'required' ? ['This time, use a tool.'] : []),
    `# Tools\n\n${tools.map(described).join('\n\n')}`,
  ].join('\n\n')
}

function answerForm(format: ModelRequest['responseFormat'], given: string): string {
  if (format === undefined) return 'The value of "final_answer" is text.'
  if (format.type === 'json_object') return 'The value of "final_answer" is a JSON object.'
  const schema = JSON.stringify(format.schema)
  return given.includes(schema)
    ? 'The value of "final_answer" is a JSON object that fits the JSON Schema given above.'
    : `The value of "final_answer" is a JSON object that fits this JSON Schema: ${schema}`
}

function described({ name, description, parameters }: ToolSpec): string {
  return `${name}: ${description}\nJSON Schema of its action_input: ${JSON.stringify(parameters)}`
}
