import { fieldsOf } from '../../messages/fields.ts'
import type { ModelReply, Usage } from '../../messages/reply.ts'
import type { Message } from '../../messages/types.ts'
import type { AgentContext, OpenCall } from '../context.ts'
import type { Judgement, Reaction } from './judgement.ts'
import { reactions } from './ladder.ts'

/**
 * A limit of the user's own. Asked after every step, the step's results included, and after a reply that could not be
 * used, before the model is called again. It must be pure: a run that is resumed asks it again about all steps.
 */
export type CustomLimit = (facts: RunFacts) => CustomJudgement | undefined

export interface CustomJudgement {
  readonly reaction: Reaction
  /** What was found, in words: for people, and, in a warning, for the model. */
  readonly evidence: string
}

/** What a limit can read of a run. */
export interface RunFacts {
  /** Model calls that could ask for tools. */
  readonly steps: number
  /** Tool calls that have begun, those that failed included. */
  readonly toolCalls: number
  readonly toolErrors: number
  /** Failed tool calls in a row. */
  readonly errorStreak: number
  /** Steps in a row that brought nothing new; 0 where neither `stagnation` nor `repeats` is on. */
  readonly stagnantSteps: number
  /** Replies in a row that could not be used. */
  readonly malformed: number
  /** Milliseconds since the start of the run; 0 under `createActor`, where nobody tells the machine. */
  readonly elapsedMs: number
  readonly usage: Usage
  /** 0 without `prices`. */
  readonly cost: number
  /** The last reply. */
  readonly reply: ModelReply | undefined
  /** The calls of the step that has just ended, with their results; empty after a reply without calls. */
  readonly calls: readonly SettledCall[]
  /** The conversation so far, without the system message. Made anew each time that it is read. */
  readonly transcript: readonly Message[]
}

export interface SettledCall {
  readonly name: string
  /** JSON text. */
  readonly arguments: string
  readonly content: string
  /** Why it did not succeed; absent where it did. */
  readonly error?: string
}

/** What a limit of the user's own says, as a judgement. Total: one that throws, or says something else, says nothing. */
export function customJudgement(name: string, limit: CustomLimit, facts: RunFacts): Judgement | undefined {
  try {
    const judgement: unknown = limit(facts)
    if (!isCustomJudgement(judgement)) return undefined
    const { reaction, evidence } = judgement
    return { limit: name, reaction, evidence, counted: { count: 1 } }
  } catch {
    return undefined
  }
}

export function isCustomJudgement(judgement: unknown): judgement is CustomJudgement {
  const { reaction, evidence } = fieldsOf(judgement)
  return reactions.some((known) => known === reaction) && typeof evidence === 'string'
}

export function runFacts(context: AgentContext, calls: readonly OpenCall[]): RunFacts {
  const { step, toolCalls, toolErrors, progress, malformed, elapsedMs, usage, cost, reply } = context
  return {
    steps: step,
    toolCalls,
    toolErrors,
    errorStreak: progress.failures.streak,
    stagnantSteps: progress.stagnantSteps,
    malformed,
    elapsedMs,
    usage,
    cost,
    reply,
    calls: calls.flatMap(({ call, answer }) =>
      answer === undefined
        ? []
        : [
            {
              name: call.function.name,
              arguments: call.function.arguments,
              content: answer.content,
              ...(answer.error === undefined ? {} : { error: answer.error }),
            },
          ],
    ),
    get transcript() {
      return context.transcript.toArray()
    },
  }
}
