// Walks the paths that a run of the agent can take, with a scripted model, and checks Loopchart's promises on each.
//
//   npx vitest run examples/testing/checkAgent.test.ts
import { checkAgent, scriptedModel } from 'loopchart/testing'
import { expect, it } from 'vitest'
import { refundAgent } from './refundAgent.ts'

it('keeps its promises on every path', { timeout: 60_000 }, async () => {
  const [small, large] = [20, 500].map((amount) => ({ order: 'A-17', amount }))
  const samples = { find_order: [{ order: 'A-17' }], refund: [small, large] }
  const report = await checkAgent(refundAgent(scriptedModel([])), { samples, maxPaths: 300 })
  console.log(String(report))
  expect(report.states.uncovered).toEqual([])
})
