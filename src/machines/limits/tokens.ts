import { judgeBudget } from './budget.ts'
import { isOff, lastOf } from './ladder.ts'
import type { Limit } from './limit.ts'
import { nextCall } from './nextCall.ts'

export const tokens: Limit = (context) => {
  const { usage, settings } = context
  const ladder = settings.limits.tokens
  if (isOff(ladder)) return undefined
  const next = nextCall(context, lastOf(ladder))
  return judgeBudget('tokens', ladder, {
    spent: usage.inputTokens + usage.outputTokens,
    nextInput: next.inputTokens,
    nextOutput: next.outputTokens,
    say: (amount) => `${Math.round(amount)} tokens`,
  })
}
