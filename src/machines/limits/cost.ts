import { noUsage } from '../../messages/reply.ts'
import { costOf } from '../prices.ts'
import { judgeBudget } from './budget.ts'
import { isOff, lastOf } from './ladder.ts'
import type { Limit } from './limit.ts'
import { nextInput, nextOutput } from './nextCall.ts'

export const cost: Limit = (context) => {
  const { cost: spent, model, settings } = context
  const ladder = settings.limits.cost
  if (isOff(ladder)) return undefined
  const price = (inputTokens: number, outputTokens: number): number =>
    costOf({ ...noUsage, inputTokens, outputTokens }, settings.prices, model)
  return judgeBudget('cost', ladder, {
    spent,
    nextInput: price(nextInput(context), 0),
    nextOutput: nextOutput(context, lastOf(ladder), (outputTokens) => price(0, outputTokens)),
    say: (amount) => Number(amount.toPrecision(4)).toString(),
  })
}
