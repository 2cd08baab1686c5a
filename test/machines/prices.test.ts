import { describe, expect, it } from 'vitest'
import { costOf, priceOf } from '../../src/machines/prices.ts'

const cheap = { input: 1, output: 2 }
const dear = { input: 10, cachedInput: 5, output: 20 }
const prices = { 'gpt-4.1': cheap, 'gpt-4': dear }
const usage = { inputTokens: 1_000_000, cachedTokens: 500_000, outputTokens: 100_000, reasoningTokens: 0 }

describe('the price of a model', () => {
  it.each([
    ['gpt-4.1', cheap],
    ['gpt-4.1-2025-04-14', cheap],
    ['gpt-4.1-latest', cheap],
    ['gpt-4-0613', dear],
    ['gpt-4.1-mini', undefined],
    ['gpt-4-32k', undefined],
    ['constructor', undefined],
    ['', undefined],
  ])('of %j is found by its id or a version of it', (name, price) => {
    expect(priceOf(prices, [name])).toBe(price)
  })

  it('is that of the longest id whose version it can be', () => {
    const both = { o: cheap, 'o-2024': dear }
    expect(priceOf(both, ['o-2024-0601'])).toBe(dear)
  })

  it('is that of the first name that has one', () => {
    expect(priceOf(prices, ['unheard-of', 'gpt-4.1'])).toBe(cheap)
  })
})

describe('what tokens cost', () => {
  it('is by the million, cached input at its own price where it has one', () => {
    expect(costOf(usage, prices, ['gpt-4'])).toBeCloseTo(0.5 * 10 + 0.5 * 5 + 0.1 * 20)
    expect(costOf(usage, prices, ['gpt-4.1'])).toBeCloseTo(1 + 0.2)
  })

  it('is the most that it can be where the model has no price, and nothing without prices', () => {
    expect(costOf(usage, prices, ['unheard-of'])).toBeCloseTo(10 + 2)
    expect(costOf(usage, {}, ['gpt-4'])).toBe(0)
  })

  it('does not fall below nothing for more cached tokens than there are', () => {
    expect(costOf({ ...usage, inputTokens: 0 }, prices, ['gpt-4'])).toBeCloseTo(2)
  })
})
