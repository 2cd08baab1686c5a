import type { AgentContext, OpenCall } from '../context.ts'
import { cost } from './cost.ts'
import { customJudgement, runFacts } from './customLimit.ts'
import { errorStreak } from './errorStreak.ts'
import type { Judgement, Reaction, Verdict, Warning } from './judgement.ts'
import type { Limit } from './limit.ts'
import { malformed } from './malformed.ts'
import { repeats } from './repeats.ts'
import { sameCalls } from './sameCalls.ts'
import { stagnation } from './stagnation.ts'
import { steps } from './steps.ts'
import { time } from './time.ts'
import { tokens } from './tokens.ts'
import { toolCalls } from './toolCalls.ts'

/** What the limits say of a run. */
export interface Judged {
  /** The limit that ends it, if one does. */
  readonly verdict: Verdict | undefined
  /** What the model is told, where the run goes on. */
  readonly warnings: readonly Warning[]
}

/** In order of precedence: of several with the same reaction, the first one names the ending. */
const limits: readonly Limit[] = [
  malformed,
  time,
  cost,
  tokens,
  errorStreak,
  repeats,
  sameCalls,
  stagnation,
  toolCalls,
  steps,
]

/** The reactions that end a run, the strictest first. */
const endings: readonly Reaction[] = ['abort', 'conclude']

const goesOn: Judged = { verdict: undefined, warnings: [] }

/** Judges what a run has spent and is about to spend, where nothing else has happened in it. */
export function judgeSpending(context: AgentContext): Verdict | undefined {
  return decisive(judgementsOf([cost, tokens], context))
}

/**
 * Judges the run after a step. The strictest reaction decides. Pure and total, so that replay comes to the same verdict.
 *
 * @param calls The calls of the step, settled. Default: a step without calls.
 */
export function judge(context: AgentContext, calls: readonly OpenCall[] = []): Judged {
  const judgements = [...judgementsOf(limits, context), ...customJudgements(context, calls)]
  if (judgements.length === 0) return goesOn
  const verdict = decisive(judgements)
  if (verdict !== undefined) return { verdict, warnings: [] }
  return { verdict: undefined, warnings: judgements.map((judgement) => warningOf(context, judgement)) }
}

function judgementsOf(asked: readonly Limit[], context: AgentContext): readonly Judgement[] {
  return asked.flatMap((limit) => limit(context) ?? [])
}

/** What ends the run, where anything does. */
function decisive(judgements: readonly Judgement[]): Verdict | undefined {
  for (const reaction of endings) {
    const found = judgements.find((judgement) => judgement.reaction === reaction)
    if (found === undefined) continue
    const { counted: _counted, ...verdict } = found
    return verdict
  }
  return undefined
}

function customJudgements(context: AgentContext, calls: readonly OpenCall[]): readonly Judgement[] {
  const { customLimits } = context.policy
  if (customLimits.length === 0) return []
  const facts = runFacts(context, calls)
  return customLimits.flatMap(([name, limit]) => customJudgement(name, limit, facts) ?? [])
}

function warningOf({ policy: { texts } }: AgentContext, { counted, ...verdict }: Judgement): Warning {
  const { limit, evidence } = verdict
  const say = Object.hasOwn(texts.warnings, limit)
    ? texts.warnings[limit as keyof typeof texts.warnings]
    : undefined
  return { ...verdict, reaction: 'warn', text: say?.(counted) ?? texts.customWarning({ limit, evidence }) }
}
