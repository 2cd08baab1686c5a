import type { ModelReply } from '../messages/reply.ts'
import type { AgentContext } from './context.ts'
import type { Limits } from './settings.ts'

/** What a limit that fired asks of the chart. */
export type Reaction = 'conclude' | 'abort'

/** Which limit fired, at what threshold, on what evidence. The guards read it; events and outcomes carry it. */
export interface Verdict {
  readonly limit: keyof Limits
  readonly max: number
  readonly reaction: Reaction
  /** In words, for people. */
  readonly evidence: string
}

type Limit = (context: AgentContext) => Verdict | undefined

const errorStreak: Limit = ({ errorStreak: failures, settings: { limits } }) =>
  failures >= limits.errorStreak
    ? {
        limit: 'errorStreak',
        max: limits.errorStreak,
        reaction: 'conclude',
        evidence: `${failures} tool calls in a row failed`,
      }
    : undefined

const steps: Limit = ({ step, settings: { limits } }) =>
  step >= limits.steps
    ? {
        limit: 'steps',
        max: limits.steps,
        reaction: 'conclude',
        evidence: `${step} model calls were made and the model still asked for tools or gave no answer`,
      }
    : undefined

const malformed: Limit = ({ malformed: replies, settings: { limits }, reply }) =>
  replies >= limits.malformed
    ? {
        limit: 'malformed',
        max: limits.malformed,
        reaction: 'abort',
        evidence: `${replies} replies in a row could not be used; the last one ${flaw(reply)}`,
      }
    : undefined

function flaw(reply: ModelReply | undefined): string {
  if (reply?.finish === 'length') return 'was cut off at the output limit'
  return reply?.problem === undefined
    ? 'was empty'
    : `was not of the form that was asked for (${reply.problem})`
}

/** In order of precedence: where several fire at once, the first one names the ending. */
const ladder: readonly Limit[] = [malformed, errorStreak, steps]

/** Judges the run after a step. Pure and total, so that replay comes to the same verdict. */
export function judge(context: AgentContext): Verdict | undefined {
  for (const limit of ladder) {
    const verdict = limit(context)
    if (verdict !== undefined) return verdict
  }
  return undefined
}
