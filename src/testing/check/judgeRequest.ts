import { findViolations } from '../../messages/invariants.ts'
import type { Message } from '../../messages/types.ts'
import type { Breach } from './story.ts'

type Flaw = Pick<Breach, 'expected' | 'got'>

/**
 * What is wrong with a request of a run, if anything is.
 *
 * @param first The messages of the run's first request.
 * @param question What the person said last.
 * @param number Which request of the run it is, from 1.
 */
export function flawOfRequest(
  messages: readonly Message[],
  { first, question, number }: { first: readonly Message[]; question: Message | undefined; number: number },
): Flaw | undefined {
  const violation = violationIn(messages)
  if (violation !== undefined) {
    return {
      expected: 'every request keeps the rules of providers',
      got: `request ${number} breaks ${violation}`,
    }
  }
  const asked = JSON.stringify(question?.content)
  if (!messages.some(({ role, content }) => role === 'user' && JSON.stringify(content) === asked)) {
    return {
      expected: `the last user message is in every request, word for word: ${asked}`,
      got: `it is not in request ${number}`,
    }
  }
  const [before, now] = [first, messages].map(systemText)
  if (before === now) return undefined
  return {
    expected: `the system message stays as it was: ${before}`,
    got: `in request ${number} it is ${now}`,
  }
}

/** What keeps a conversation from going on, if anything does. */
export function flawOfTranscript(transcript: readonly Message[]): Flaw | undefined {
  const violation = violationIn([...transcript, { role: 'user', content: 'go on' }])
  if (violation === undefined) return undefined
  return { expected: 'the transcript of an outcome can go on', got: `it breaks ${violation}` }
}

function violationIn(messages: readonly Message[]): string | undefined {
  const [violation] = findViolations(messages)
  return violation && `"${violation.rule}" at message ${violation.index}: ${violation.message}`
}

function systemText([message]: readonly Message[]): string {
  return message?.role === 'system' ? JSON.stringify(message.content) : 'none'
}
