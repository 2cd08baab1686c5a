import { describe, expect, it } from 'vitest'
import { judgeBudget } from '../../../src/machines/limits/budget.ts'

const ladder = { warn: 50, conclude: 100, abort: 100 }
const judge = (spent: number, nextInput: number, nextOutput: number) =>
  judgeBudget('tokens', ladder, { spent, nextInput, nextOutput, say: String })?.reaction

describe('a budget', () => {
  it('goes on as long as another step and a closing answer fit exactly', () => {
    // Two requests of 10, and three times a reply of 2: once in the second request.
    expect(judge(49, 10, 2)).toBeUndefined()
    expect(judge(74, 10, 2)).toBe('warn')
    expect(judge(75, 10, 2)).toBe('conclude')
  })

  it('concludes as long as the request of a closing answer fits exactly', () => {
    expect(judge(90, 10, 2)).toBe('conclude')
    expect(judge(91, 10, 2)).toBe('abort')
  })

  it('warns from its threshold on', () => {
    expect(judge(49, 1, 1)).toBeUndefined()
    expect(judge(50, 1, 1)).toBe('warn')
  })

  it('says what was spent, what for, and how much there is', () => {
    const spending = { spent: 91, nextInput: 10, nextOutput: 2, say: (amount: number) => `${amount} tokens` }
    expect(judgeBudget('tokens', ladder, spending)).toEqual({
      limit: 'tokens',
      max: 100,
      reaction: 'abort',
      evidence: '91 tokens were spent, and a closing answer would exceed 100 tokens',
      counted: { count: 91, max: 100 },
    })
  })
})
