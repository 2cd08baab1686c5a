import { headOf } from '../messages/plainCut.ts'
import { plainForm } from './plainForm.ts'
import { isError, readField } from './plainShape.ts'

/** The longest text of one error, in characters. */
const SHOWN_ERROR = 1000

/** How many causes of causes are followed. They may go round in circles. */
const SHOWN_CAUSES = 3

/**
 * What a tool threw, in words for the model: name and message, then the errors that caused it. Never the stack, and
 * never longer than about 4000 characters. Takes anything, as anything can be thrown.
 */
export function thrownText(thrown: unknown): string {
  const texts = [errorText(thrown)]
  let cause = causeOf(thrown)
  while (cause !== undefined && cause !== null && texts.length <= SHOWN_CAUSES) {
    texts.push(errorText(cause))
    cause = causeOf(cause)
  }
  return texts.join('; caused by ')
}

function errorText(thrown: unknown): string {
  const text = (describesItself(thrown) ? nameAndMessage(thrown) : valueText(thrown)).toWellFormed()
  const head = headOf(text, SHOWN_ERROR)
  return head.length === text.length ? text : `${head}… (${text.length - head.length} more characters)`
}

function describesItself(thrown: unknown): boolean {
  return isErrorWithoutThrowing(thrown) || textField(thrown, 'message') !== ''
}

/** Some errors of Node have a code and no message. */
function nameAndMessage(thrown: unknown): string {
  const name = textField(thrown, 'name')
  const message = textField(thrown, 'message') || textField(thrown, 'code')
  if (message === '') return name || 'Error'
  return name === '' || name === 'Error' ? message : `${name}: ${message}`
}

function valueText(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  const plain = plainForm(thrown, SHOWN_ERROR)
  return typeof plain === 'string' ? plain : String(JSON.stringify(plain))
}

function textField(holder: unknown, name: string): string {
  if (typeof holder !== 'object') return ''
  const value = readField(holder, name, () => '')
  return typeof value === 'string' ? value : ''
}

/** The first of the errors of an `AggregateError` stands for all. */
function causeOf(thrown: unknown): unknown {
  if (typeof thrown !== 'object') return undefined
  const nothing = (): undefined => undefined
  return readField(thrown, 'cause', nothing) ?? readField(readField(thrown, 'errors', nothing), 0, nothing)
}

function isErrorWithoutThrowing(value: unknown): boolean {
  try {
    return isError(value)
  } catch {
    return false
  }
}
