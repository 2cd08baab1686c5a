import type { Usage } from '../messages/reply.ts'

/** What a model costs: per million tokens, in whatever currency all prices are in. */
export interface Price {
  readonly input: number
  /** For input that the provider had cached. Default: as other input. */
  readonly cachedInput?: number
  /** Reasoning included. */
  readonly output: number
}

/** Prices by the id of the model. */
export type Prices = Readonly<Record<string, Price>>

const PER = 1_000_000

/** What follows the id of a model in the name of one of its versions: `-2025-04-14`, `-0613`, `@20250514`, `-latest`. */
const VERSION = /^[-@:](?:\d{4,}|latest\b)/

/**
 * The price of a model by the first of its names that has one, exactly or as a version of it. Undefined where none has.
 */
export function priceOf(prices: Prices, names: readonly string[]): Price | undefined {
  for (const name of names) {
    if (Object.hasOwn(prices, name)) return prices[name]
    const known = Object.keys(prices).filter(
      (id) => name.startsWith(id) && VERSION.test(name.slice(id.length)),
    )
    if (known.length > 0) return prices[known.reduce((a, b) => (b.length > a.length ? b : a))]
  }
  return undefined
}

/**
 * What tokens cost. Those of a model that has no price are charged at the dearest rates there are, so that a limit
 * holds. 0 where there are no prices.
 *
 * @param names The names of the model, the most exact one first.
 */
export function costOf(usage: Usage, prices: Prices, names: readonly string[]): number {
  const { input, cachedInput = input, output } = priceOf(prices, names) ?? dearest(prices)
  const cached = Math.min(usage.cachedTokens, usage.inputTokens)
  return ((usage.inputTokens - cached) * input + cached * cachedInput + usage.outputTokens * output) / PER
}

function dearest(prices: Prices): Price {
  const all = Object.values(prices)
  return {
    input: Math.max(0, ...all.map(({ input }) => input)),
    output: Math.max(0, ...all.map(({ output }) => output)),
  }
}
