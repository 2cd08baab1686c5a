import { judgeBudget } from './budget.ts'
import { isOff, lastOf } from './ladder.ts'
import type { Limit } from './limit.ts'
import { nextInput, nextOutput } from './nextCall.ts'

export const tokens: Limit = (context) => {
  const { usage, settings } = context
  const ladder = settings.limits.tokens
  if (isOff(ladder)) return undefined
  return judgeBudget('tokens', ladder, {
    spent: usage.inputTokens + usage.outputTokens,
    nextInput: nextInput(context),
    nextOutput: nextOutput(context, lastOf(ladder), (outputTokens) => outputTokens),
    say: (amount) => `${Math.round(amount)} tokens`,
  })
}
