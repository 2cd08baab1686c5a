import { expect, it } from 'vitest'
import { createAgent, memoryJournal } from '../../../src/index.ts'
import { scriptedModel } from '../../../src/testing/index.ts'
import { asks, lookUp } from './agents.ts'
import { describeInBrowser } from './chromium.ts'

/** More elements than this would be a list of which all is in the document. */
const MOST_ROWS = 80

describeInBrowser('a page with much to show', ({ open }) => {
  it('lists thousands of runs, and reaches the first of them', async () => {
    const journal = memoryJournal()
    const runs = 2000
    const model = scriptedModel(Array.from({ length: runs }, () => 'Yes.'))
    const agent = createAgent({ model, journal })
    for (let i = 0; i < runs; i += 1) await agent.run(`Question ${i}?`, { runId: `run-${i}` })
    const page = await open({ agent })
    const list = page.locator('.runs-list')
    const rows = list.getByRole('listitem')
    await page.getByRole('link', { name: 'Question 1999?' }).waitFor()
    expect(await rows.count()).toBeLessThan(MOST_ROWS)
    const last = page.getByRole('link', { name: 'Question 0?' })
    while ((await last.count()) === 0) {
      await list.evaluate((box) => {
        box.scrollTop = box.scrollHeight
      })
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(drawn))')
    }
    expect(await rows.count()).toBeLessThan(MOST_ROWS)
    await last.click()
    await page.getByText('state: done').waitFor()
    await page.getByRole('searchbox').fill('Question 1234?')
    await page.getByRole('link', { name: 'Question 1234?' }).click()
    await page.locator('.run-head h2', { hasText: 'Question 1234?' }).waitFor()
  })

  it('opens a run of ten thousand events, and goes to any of them', async () => {
    const steps = 1000
    const model = scriptedModel([
      ...Array.from({ length: steps }, (_, i) => asks(['look_up', { what: `place ${i}` }])),
      'That was all.',
    ])
    const agent = createAgent({ model, tools: [lookUp], limits: { steps: steps + 1, stagnation: Infinity } })
    const page = await open({
      agent,
      bounds: { bytes: 400_000_000, ofRun: { events: 100_000, bytes: 400_000_000 } },
    })
    await agent.run('Everything, please.', { runId: 'long' })
    await page.getByRole('link', { name: 'Everything, please.' }).click()
    await page.getByText('state: done').waitFor()
    const slider = page.getByRole('slider', { name: 'Position in the run' })
    expect(Number(await slider.getAttribute('max'))).toBeGreaterThan(10_000)
    const rows = page.locator('.timeline-list li')
    expect(await rows.count()).toBeLessThan(MOST_ROWS)
    for (const position of [9000, 42, 5000]) {
      await slider.fill(String(position))
      await page.getByText(`event ${position} of`).waitFor()
      await page.locator('.row[aria-current]').waitFor()
    }
    await page.getByRole('tab', { name: 'Transcript' }).click()
    await page.getByRole('button', { name: /Show \d+ earlier messages/ }).waitFor()
    expect(await page.getByRole('log').locator('.message').count()).toBeLessThanOrEqual(100)
  })
})
