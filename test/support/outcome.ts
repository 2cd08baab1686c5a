import { expect } from 'vitest'
import { findViolations, ModelError, type Outcome } from '../../src/index.ts'

/** Narrows an outcome, with the whole of it in the message where it is another. */
export function expectDone<Output>(outcome: Outcome<Output>): Extract<Outcome<Output>, { status: 'done' }> {
  if (outcome.status !== 'done') throw new Error(`expected done: ${JSON.stringify(outcome, null, 2)}`)
  return outcome
}

export function expectAborted(outcome: Outcome<unknown>): Extract<Outcome, { status: 'aborted' }> {
  if (outcome.status !== 'aborted') throw new Error(`expected aborted: ${JSON.stringify(outcome, null, 2)}`)
  return outcome
}

/** The conversation can go on: with one more user message it satisfies every provider. */
export function expectSendable(outcome: Outcome<unknown>): void {
  const next = [...outcome.transcript, { role: 'user', content: 'go on' } as const]
  expect(findViolations(next)).toEqual([])
}

/** What a call fails with. */
export async function rejectionOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call
  } catch (thrown) {
    return thrown
  }
  throw new Error('the call did not fail')
}

/** The error of a model call; any other failure is the test's. */
export async function modelErrorOf(call: Promise<unknown>): Promise<ModelError> {
  const error = await rejectionOf(call)
  if (!(error instanceof ModelError)) throw error
  return error
}
