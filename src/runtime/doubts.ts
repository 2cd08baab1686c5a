import { MisuseError } from '../errors.ts'
import type { RunEvent } from '../journal/entry.ts'
import type { AgentContext, OpenCall } from '../machines/context.ts'
import type { Decision } from '../machines/reducers.ts'
import { toolError } from '../messages/toolTexts.ts'
import type { RunTools } from '../tools/toolbox.ts'
import { approvalToken } from './approvalToken.ts'
import type { Effect } from './pureMachine.ts'

/** What becomes of a call in doubt that is not idempotent: the model is told, or a person is asked. */
export type InDoubtPolicy = 'tell' | 'ask'

/** What becomes of the tool calls that had begun when a process died. */
export interface SettledDoubts {
  /** What the model is told of those that do not run again. */
  readonly told: readonly RunEvent[]
  /** They wait for the word of a person. */
  readonly asked: readonly Effect[]
}

/**
 * A call of an idempotent tool runs again. Of any other a person decides, where one has (approved: it runs again; not
 * approved: it does not, and the model is told what the person says), or is to.
 *
 * @throws MisuseError `approval_mismatch` or `invalid_decision` for a decision that cannot be one on such a call.
 */
export function settleDoubts(
  inDoubt: readonly Effect[],
  {
    calls,
    tools,
    decisions,
    policy,
  }: {
    /** The calls of the step that the run is in. */
    readonly calls: readonly OpenCall[]
    readonly tools: RunTools
    readonly decisions: readonly Decision[]
    readonly policy: InDoubtPolicy
  },
): SettledDoubts {
  const told: RunEvent[] = []
  const asked: Effect[] = []
  for (const effect of inDoubt) {
    const decision = decisionOn(effect, decisions, calls)
    const runsAgain = decision?.approved ?? isIdempotent(effect, tools)
    if (runsAgain) continue
    if (decision === undefined && policy === 'ask') {
      asked.push(effect)
    } else {
      const output = toolError('in_doubt', { reason: decision?.reason })
      told.push({ type: 'settled', place: effect.place, output })
    }
  }
  return { told, asked }
}

/** The call that a decision is on: one that asks for the same as an earlier one is decided with that. */
export function decidedCall({ callId }: Decision, calls: readonly OpenCall[]): string {
  const named = calls.find(({ call }) => call.id === callId)
  const first = named?.sameAs === undefined ? undefined : calls[named.sameAs]
  return first?.call.id ?? callId
}

function decisionOn(
  effect: Effect,
  decisions: readonly Decision[],
  calls: readonly OpenCall[],
): Decision | undefined {
  if (effect.kind !== 'runTool') return undefined
  const { call } = effect.input
  // An approval that is delivered once more must not run a call once more: only the word on the doubt itself counts.
  const decision = decisions.find((each) => each.inDoubt === true && decidedCall(each, calls) === call.id)
  if (decision?.token !== undefined && decision.token !== approvalToken(call)) {
    throw new MisuseError(
      'approval_mismatch',
      `The decision on call "${call.id}" was made for other arguments than the call has. Show the person the call anew.`,
    )
  }
  if (decision?.arguments !== undefined) {
    throw new MisuseError(
      'invalid_decision',
      `The call "${call.id}" had begun, so its arguments cannot be changed any more: approve it, and it runs again as it ` +
        'was, or do not, and say why.',
    )
  }
  return decision
}

function isIdempotent(effect: Effect, tools: RunTools): boolean {
  if (effect.kind !== 'runTool') return false
  const { step, transcript, call } = effect.input
  return tools.at(step, () => transcript.toArray()).byName.get(call.function.name)?.idempotent === true
}

/** Calls that are put to a person wait as those do that need approval. */
export function askedOf(context: AgentContext, asked: readonly Effect[]): AgentContext {
  if (asked.length === 0) return context
  const ids = new Set(asked.flatMap(({ kind, input }) => (kind === 'runTool' ? [input.call.id] : [])))
  const answer = toolError('in_doubt', {})
  return {
    ...context,
    calls: context.calls.map((open, _i, calls) => {
      if (ids.has(open.call.id)) return { ...open, approval: 'pending', inDoubt: true, answer }
      const first = open.sameAs === undefined ? undefined : calls[open.sameAs]
      return first !== undefined && ids.has(first.call.id) ? { ...open, answer } : open
    }),
  }
}
