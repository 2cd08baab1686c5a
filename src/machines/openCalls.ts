import { canonicalText } from '../messages/canonicalJson.ts'
import type { ModelReply } from '../messages/reply.ts'
import { uniqueId } from '../messages/sendable.ts'
import { toolError } from '../messages/toolTexts.ts'
import type { ToolCall } from '../messages/types.ts'
import type { AgentContext, OpenCall } from './context.ts'
import type { ModelTurn, ToolAnswer } from './effects.ts'
import { fingerprint } from './limits/fingerprint.ts'
import { isOff, lastOf } from './limits/ladder.ts'
import { ask, askOther, firstRefused } from './limits/sameCalls.ts'

/**
 * The calls of a reply, with ids of their own. Those of a reply that was cut off are answered already, and so are those
 * beyond the limit of tool calls or of same calls: they do not run.
 */
export function openCalls(context: AgentContext, turn: ModelTurn): readonly OpenCall[] {
  const { transcript, step, toolCalls, settings, progress } = context
  const { reply, needsApproval, sequential = [], repeatable = [], unknown = [] } = turn
  const { sameCalls } = settings.limits
  const max = lastOf(settings.limits.toolCalls)
  let { asked } = progress
  const taken = new Set<string>()
  const firstOf = new Map<number, number>()
  /** Of calls that are not run, as those that ask for the same get them too. */
  const answers = new Map<number, ToolAnswer>()
  const calls = reply.toolCalls.map((call, i): OpenCall => {
    const isUsed = (id: string): boolean => taken.has(id) || transcript.hasCall(id)
    const id = uniqueId(call.id, `call_${step}_${i}`, isUsed)
    taken.add(id)
    const named: ToolCall = { ...call, id }
    const signature = signatureOf(call)
    const open = { call: named, signature, approval: 'not_needed' } as const
    if (isCutOff(reply)) return { ...open, answer: truncated }
    const first = firstOf.get(signature)
    if (first !== undefined) return { ...open, sameAs: first }
    const told = answers.get(signature)
    if (told !== undefined) return { ...open, answer: told }
    if (toolCalls + firstOf.size >= max) return { ...open, answer: toolError('limit_reached', { max }) }
    // A call of a tool that there is not has never run, and is told which ones there are.
    const isCounted = !isOff(sameCalls) && !repeatable.includes(i) && !unknown.includes(i)
    const counted = isCounted ? countOf(signature) : undefined
    if (!isCounted) asked = askOther(asked, signature, sameCalls)
    if (counted !== undefined && counted >= firstRefused(context)) {
      const answer = refused(context, call, counted)
      answers.set(signature, answer)
      return { ...open, asked: counted, answer }
    }
    firstOf.set(signature, i)
    return {
      ...open,
      ...(counted === undefined ? {} : { asked: counted }),
      approval: needsApproval.includes(i) ? 'pending' : 'not_needed',
      ...(sequential.includes(i) ? { sequential: true } : {}),
      ...(repeatable.includes(i) ? { repeatable: true } : {}),
    }
  })
  return calls.some(({ asked: count = 0 }) => count >= lastOf(sameCalls)) ? calls.map(withoutRunning) : calls

  function countOf(signature: number): number {
    asked = ask(asked, signature, sameCalls)
    return asked.get(signature) ?? 1
  }
}

/** Where a limit ends the run, none of its reply's calls runs, and nobody is asked about them. */
function withoutRunning(open: OpenCall): OpenCall {
  if (open.answer !== undefined) return open
  return { ...open, approval: 'not_needed', answer: toolError('limit_reached', {}) }
}

/** The answer to a call that was made too often to be run again. */
function refused(context: AgentContext, { function: { name: tool } }: ToolCall, count: number): ToolAnswer {
  const advice = context.policy.texts.warnings.sameCalls({ tool, count, max: firstRefused(context) })
  return toolError('repeated', { advice })
}

/** Two calls with the same signature ask for the same thing. */
export function signatureOf({ function: { name, arguments: args } }: ToolCall): number {
  return fingerprint(`${name} ${canonicalText(args)}`)
}

function isCutOff({ finish }: ModelReply): boolean {
  return finish === 'length'
}

/**
 * The positions of the calls that can begin now: those that no person has to decide on, that are not the same as
 * another, and that no call of a sequential tool keeps waiting.
 */
export function startable(calls: readonly OpenCall[]): readonly number[] {
  const positions: number[] = []
  let isWaitedFor = false
  for (const [position, open] of calls.entries()) {
    if (open.answer !== undefined || open.sameAs !== undefined) continue
    if (open.sequential === true && isWaitedFor) break
    if (open.approval !== 'pending' && open.started !== true) positions.push(position)
    isWaitedFor = true
    if (open.sequential === true) break
  }
  return positions
}

/** Errors of calls that never began. */
const neverBegun: ReadonlySet<string | undefined> = new Set([
  'truncated',
  'limit_reached',
  'denied',
  'repeated',
])

/** Whether a call has run, or was under way: one that asks for the same as another has not, nor one that waits. */
export function hasBegun({ sameAs, answer, started }: OpenCall): boolean {
  if (sameAs !== undefined) return false
  return answer === undefined ? started === true : !neverBegun.has(answer.error)
}

export function markStarted(
  { calls }: AgentContext,
  positions: readonly number[],
): Pick<AgentContext, 'calls'> {
  return { calls: calls.map((open, i) => (positions.includes(i) ? { ...open, started: true } : open)) }
}

const truncated: ToolAnswer = toolError('truncated', {})
