import { addUsage, noUsage, type Usage } from '../messages/reply.ts'
import type { Spent } from './effects.ts'
import { costOf, type Prices } from './prices.ts'

/** What a run has spent so far. */
export interface Spending {
  readonly usage: Usage
  /** The same, by the model that was asked. */
  readonly usageByModel: Readonly<Record<string, Usage>>
  /** By the prices that are known; 0 where there are none. */
  readonly cost: number
}

export const nothingSpent: Spending = { usage: noUsage, usageByModel: {}, cost: 0 }

/**
 * Adds the tokens of one model to what was spent.
 *
 * @param names The names of the model, the most exact one first.
 */
export function spend(before: Spending, usage: Usage, names: readonly string[], prices: Prices): Spending {
  const [model = 'unknown'] = names
  const ofModel = Object.hasOwn(before.usageByModel, model) ? before.usageByModel[model] : undefined
  return {
    usage: addUsage(before.usage, usage),
    usageByModel: { ...before.usageByModel, [model]: addUsage(ofModel ?? noUsage, usage) },
    cost: isEmpty(prices) ? before.cost : before.cost + costOf(usage, prices, names),
  }
}

/** Adds what several models took. */
export function spendAll(
  { usage, usageByModel, cost }: Spending,
  spent: readonly Spent[],
  prices: Prices,
): Spending {
  return spent.reduce<Spending>((before, { model, usage: taken }) => spend(before, taken, [model], prices), {
    usage,
    usageByModel,
    cost,
  })
}

function isEmpty(prices: Prices): boolean {
  for (const _model in prices) return false
  return true
}
