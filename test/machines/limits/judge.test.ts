import { describe, expect, it } from 'vitest'
import { type AgentContext, startingContext } from '../../../src/machines/context.ts'
import { type CustomLimit, policyOf, resolveSettings } from '../../../src/machines/index.ts'
import { judge } from '../../../src/machines/limits/judge.ts'
import { noProgress } from '../../../src/machines/limits/progress.ts'
import { noUsage } from '../../../src/messages/reply.ts'

const limits = [
  'malformed',
  'time',
  'cost',
  'tokens',
  'errorStreak',
  'repeats',
  'stagnation',
  'toolCalls',
  'steps',
] as const

/** A run in which everything is exceeded by far, under the limits of these names, with one and the same reaction. */
function exceeded(names: readonly string[], reaction: string, own?: CustomLimit): AgentContext {
  const off = Object.fromEntries(limits.map((name) => [name, Number.POSITIVE_INFINITY]))
  const on = Object.fromEntries(names.map((name) => [name, { [reaction]: 2 }]))
  const prices = { m: { input: 1_000_000, output: 1_000_000 } }
  const policy = policyOf({ customLimits: own === undefined ? {} : { own } })
  const failures = [{ tool: 'look', error: 'failed', count: 9 }]
  return {
    ...startingContext('go', resolveSettings({ limits: { ...off, ...on }, prices }), policy),
    malformed: 9,
    elapsedMs: 9,
    step: 9,
    toolCalls: 9,
    usage: { ...noUsage, inputTokens: 9 },
    cost: 9,
    model: ['m'],
    progress: {
      ...noProgress,
      failures: { streak: 9, byTool: failures, ofLastStep: failures },
      stagnantSteps: 9,
      isStagnant: true,
      repeated: [{ position: 0, tool: 'look', count: 9 }],
    },
  }
}

describe('of several limits that fire at once', () => {
  it.each(['conclude', 'abort'])('with %s, the first in order names the ending', (reaction) => {
    for (const [i, first] of limits.entries()) {
      expect(judge(exceeded(limits.slice(i), reaction)).verdict).toMatchObject({
        limit: first,
        reaction,
        max: 2,
      })
    }
    expect(judge(exceeded([], reaction))).toEqual({ verdict: undefined, warnings: [] })
  })

  it('the strictest decides, wherever it stands', () => {
    for (const first of limits) {
      const own: CustomLimit = () => ({ reaction: 'abort', evidence: 'enough' })
      expect(judge(exceeded([first], 'conclude', own)).verdict?.limit).toBe('own')
      const mild: CustomLimit = () => ({ reaction: 'warn', evidence: 'mind' })
      expect(judge(exceeded([first], 'conclude', mild))).toMatchObject({
        verdict: { limit: first },
        warnings: [],
      })
    }
  })

  it('all warn, each in its own words', () => {
    const { verdict, warnings } = judge(
      exceeded(limits, 'warn', () => ({ reaction: 'warn', evidence: 'too loud' })),
    )
    expect(verdict).toBeUndefined()
    expect(warnings.map(({ limit }) => limit)).toEqual([...limits, 'own'])
    expect(new Set(warnings.map(({ text }) => text)).size).toBe(limits.length + 1)
    expect(warnings.at(-1)?.text).toBe('Note: too loud')
  })
})
