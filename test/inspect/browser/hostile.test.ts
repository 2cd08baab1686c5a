import { expect, it } from 'vitest'
import { z } from 'zod'
import { createAgent, defineTool, memoryJournal } from '../../../src/index.ts'
import { scriptedModel } from '../../../src/testing/index.ts'
import { asks } from './agents.ts'
import { describeInBrowser } from './chromium.ts'

const markup =
  '<img src=x onerror="window.ran=1"><script>window.ran=2</script></script><svg onload="window.ran=3">' +
  '<a href="javascript:window.ran=4">click</a><style>*{display:none}</style>'
const turned = 'pay \u202e001\u202c now'
const long = 'W'.repeat(5000)
const hostile = `${markup} ${turned} ${long}`

const leak = defineTool({
  name: 'leak',
  description: 'Gives back what it is given.',
  input: z.object({ text: z.string() }),
  run: ({ text }, { emit }) => {
    emit({ text })
    return text
  },
})

const guarded = defineTool({
  name: 'guarded',
  description: 'Needs a person.',
  input: z.object({ text: z.string() }),
  needsApproval: true,
  run: ({ text }) => text,
})

const failing = defineTool({
  name: 'failing',
  description: 'Fails.',
  input: z.object({}),
  run: () => {
    throw new Error(hostile)
  },
})

describeInBrowser('hostile text in the page', ({ open, mount, page: visit }) => {
  it('is text wherever it stands, and runs nowhere', async () => {
    const model = scriptedModel([
      { text: hostile, ...asks(['leak', { text: hostile }], ['failing', {}]) },
      asks(['guarded', { text: hostile }]),
      hostile,
    ])
    const agent = createAgent({
      name: markup,
      model,
      tools: [leak, guarded, failing],
      journal: memoryJournal(),
      instructions: hostile,
    })
    const runId = '"><img src=x onerror=window.ran=5>'
    const { url } = await mount({ agent })
    for (const width of [1280, 390]) {
      const page = await visit(url, { width, hash: `#/run/${encodeURIComponent(runId)}`, expected: /404/ })
      if (width === 1280) await agent.run(hostile, { runId })
      await page.locator('.approval').waitFor()
      await page.getByRole('button', { name: 'Edit arguments' }).click()
      expect(await page.getByLabel('Arguments, as JSON').inputValue()).toContain('\\u202e')
      for (const tab of ['Timeline', 'Transcript', 'Memory', 'Limits']) {
        await page.getByRole('tab', { name: tab }).click()
        if (tab !== 'Timeline') continue
        await page.locator('.row-tool', { hasText: 'leak' }).click()
        await page.getByText('Progress, 1 report').waitFor()
        await page.getByText('Event as it came').click()
        await page.locator('.row-tool', { hasText: 'failing' }).click()
      }
      await page.getByRole('tab', { name: 'Transcript' }).click()
      const said = await page.getByRole('log').textContent()
      expect(said).toContain(markup)
      expect(said).toContain('pay \\u202e001\\u202c now')
      expect(said).not.toContain('\u202e')
      expect(await page.evaluate('window.ran')).toBeUndefined()
      expect(
        await page.locator('#app img, #app script, #app style, #app [onload], #app [onerror]').count(),
      ).toBe(0)
      expect(await page.locator('#app a[href^="javascript"]').count()).toBe(0)
      expect(await page.evaluate(overflow)).toEqual([])
    }
  })

  it('is refused by the browser even where it would get in', async () => {
    const page = await open({
      agent: createAgent({ model: scriptedModel([]) }),
      expected: /Content Security Policy/,
    })
    await page.getByText('No runs yet.').waitFor()
    await page.evaluate(
      `document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="window.ran=1">')`,
    )
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    expect(await page.evaluate('window.ran')).toBeUndefined()
  })
})

/** Runs in the page: which elements make it wider than it is. */
const overflow = `
  document.documentElement.scrollWidth > innerWidth ? [document.documentElement.scrollWidth] : []
`
