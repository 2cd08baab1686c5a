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

export type ToolEffect = Extract<Effect, { kind: 'runTool' }>

/** A tool call that had begun when a process died. */
export interface Doubt {
  readonly effect: ToolEffect
  /** How often it has begun. */
  readonly begun: number
  /** Whether a person has let it run once more before it began the last time. */
  readonly wasApproved: boolean
}

/** What becomes of the tool calls that had begun when a process died. */
export interface SettledDoubts {
  /** What the model is told of those that do not run again. */
  readonly told: readonly RunEvent[]
  /** They wait for the word of a person. */
  readonly asked: readonly Doubt[]
}

/**
 * A call of an idempotent tool runs again. Of any other a person decides, where one has (approved: it runs again; not
 * approved: it does not, and the model is told what the person says), or is to.
 *
 * @throws MisuseError `approval_mismatch` or `invalid_decision` for a decision that cannot be one on such a call.
 */
export function settleDoubts(
  inDoubt: readonly Doubt[],
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
  const asked: Doubt[] = []
  for (const doubt of inDoubt) {
    const { effect } = doubt
    const decision = decisionOn(doubt, decisions, calls)
    const runsAgain = decision?.approved ?? isIdempotent(effect, tools)
    if (runsAgain) continue
    if (decision === undefined && policy === 'ask') {
      asked.push(doubt)
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
  { effect, begun, wasApproved }: Doubt,
  decisions: readonly Decision[],
  calls: readonly OpenCall[],
): Decision | undefined {
  const { call } = effect.input
  // An approval that is delivered once more must not run a call once more: only the word on the doubt itself counts.
  const decision = decisions.find((each) => each.inDoubt === true && decidedCall(each, calls) === call.id)
  if (decision?.token !== undefined && decision.token !== approvalToken(call, begun)) {
    throw new MisuseError(
      'approval_mismatch',
      `The decision on call "${call.id}" was made for other arguments than the call has, or before it began the last time. ` +
        'Show the person the call anew.',
    )
  }
  if (decision?.approved === true && decision.token === undefined && wasApproved) {
    throw new MisuseError(
      'approval_mismatch',
      `The call "${call.id}" was let run once more already, and has begun since. Show the person the call anew, and give ` +
        'the token of its pending approval with the decision.',
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

function isIdempotent({ input: { step, transcript, call } }: ToolEffect, tools: RunTools): boolean {
  return tools.at(step, () => transcript.toArray()).byName.get(call.function.name)?.idempotent === true
}

/** Calls that are put to a person wait as those do that need approval. */
export function askedOf(context: AgentContext, asked: readonly Doubt[]): AgentContext {
  if (asked.length === 0) return context
  const byId = new Map(asked.map((doubt) => [doubt.effect.input.call.id, doubt]))
  const answer = toolError('in_doubt', {})
  return {
    ...context,
    calls: context.calls.map((open, _i, calls) => {
      const { call, sameAs } = open
      const doubt = byId.get(call.id)
      if (doubt !== undefined) {
        const token = approvalToken(call, doubt.begun)
        return { ...open, approval: 'pending', inDoubt: true, token, answer }
      }
      const first = sameAs === undefined ? undefined : calls[sameAs]
      return first !== undefined && byId.has(first.call.id) ? { ...open, answer } : open
    }),
  }
}
