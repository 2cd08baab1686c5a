// Runs the agent a thousand times in virtual time, and asks whether its limits leave room for the work.
//
//   npx vitest run examples/testing/simulate.test.ts
import { scriptedModel, simulate } from 'loopchart/testing'
import { expect, it } from 'vitest'
import { refundAgent } from './refundAgent.ts'

it('answers 95 of 100 customers, most within half a minute', { timeout: 60_000 }, async () => {
  const samples = { find_order: [{ order: 'A-17' }, { order: 'A-18' }] }
  const faults = { modelError: 0.05, malformed: 0.02, toolError: 0.1, toolHang: 0.005 }
  const report = await simulate(refundAgent(scriptedModel([])), { runs: 1000, faults, samples })
  console.log(String(report))
  expect(report.answered).toBeGreaterThan(950)
  expect(report.ms.p90).toBeLessThan(30_000)
})
