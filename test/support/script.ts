import type { ScriptedStep } from '../../src/testing/index.ts'

/** Two calls, one that fails, and an answer. */
export const script: readonly ScriptedStep[] = [
  {
    calls: [
      { name: 'add', arguments: { a: 1, b: 2 }, id: 'a' },
      { name: 'add', arguments: { a: 3, b: 4 }, id: 'b' },
    ],
    usage: { inputTokens: 7 },
  },
  { calls: [{ name: 'fail', id: 'c' }], usage: { inputTokens: 9 } },
  { text: '3 and 7.', usage: { inputTokens: 11 } },
]
