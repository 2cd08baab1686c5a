import { noUsage } from '../../messages/reply.ts'
import { costOf } from '../prices.ts'
import { judgeBudget } from './budget.ts'
import { isOff } from './ladder.ts'
import type { Limit } from './limit.ts'
import { nextCall } from './nextCall.ts'

export const cost: Limit = (context) => {
  const { cost: spent, model, settings } = context
  const ladder = settings.limits.cost
  if (isOff(ladder)) return undefined
  // A share of the money says nothing about tokens: the reserve for an answer is the fixed one.
  const next = nextCall(context, Infinity)
  const price = (inputTokens: number, outputTokens: number): number =>
    costOf({ ...noUsage, inputTokens, outputTokens }, settings.prices, model)
  return judgeBudget('cost', ladder, {
    spent,
    nextInput: price(next.inputTokens, 0),
    nextOutput: price(0, next.outputTokens),
    say: (amount) => Number(amount.toPrecision(4)).toString(),
  })
}
