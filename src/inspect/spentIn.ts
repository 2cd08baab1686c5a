import type { JournalEntry, RunEvent } from '../journal/entry.ts'
import type { Compaction, ModelTurn, Spent, ToolAnswer } from '../machines/effects.ts'
import type { Prices } from '../machines/prices.ts'
import { nothingSpent, type Spending, spend } from '../machines/spending.ts'
import type { Usage } from '../messages/reply.ts'

export type Expense = Pick<Spending, 'usage' | 'cost'> & {
  /** Whether prices are known. */
  readonly isPriced: boolean
}

/** What a run has spent, added up from its journal without replaying it. */
export function spentIn(entries: readonly JournalEntry[]): Expense {
  let spending: Spending = nothingSpent
  let prices: Prices = {}
  for (const entry of entries) {
    if (entry.type === 'started' || entry.type === 'migrated') {
      prices = entry.input.prices ?? {}
      const { usage, usageByModel, cost } = entry.input.carried ?? nothingSpent
      spending = { usage, usageByModel, cost }
    } else if (entry.type === 'event') {
      for (const { names, usage } of spentBy(entry.event)) spending = spend(spending, usage, names, prices)
    }
  }
  const { usage, cost } = spending
  return { usage, cost, isPriced: Object.keys(prices).length > 0 }
}

/** Tokens, and the names of the model that took them, the most exact one first. */
interface Taken {
  readonly names: readonly string[]
  readonly usage: Usage
}

function spentBy(event: RunEvent): readonly Taken[] {
  if (event.type !== 'settled') return event.type === 'cancelled' ? takenBy(event.spent) : []
  const [kind] = event.place.split('.')
  switch (kind) {
    case 'model':
    case 'closing': {
      const { reply, model } = event.output as ModelTurn
      return [{ names: [reply.model, model].filter((name) => name !== undefined), usage: reply.usage }]
    }
    case 'tool': {
      const { usage, usageByModel } = event.output as ToolAnswer
      const ofModels = usageByModel ?? (usage === undefined ? {} : { unknown: usage })
      return Object.entries(ofModels).map(([model, ofModel]) => ({ names: [model], usage: ofModel }))
    }
    case 'compact':
      return takenBy((event.output as Compaction).spent)
    default:
      return takenBy(event.spent)
  }
}

function takenBy(spent: readonly Spent[] = []): readonly Taken[] {
  return spent.map(({ model, usage }) => ({ names: [model], usage }))
}
