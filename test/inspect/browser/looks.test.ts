import { expect, it } from 'vitest'
import { createAgent, memoryJournal } from '../../../src/index.ts'
import { scriptedModel } from '../../../src/testing/index.ts'
import { asks, bookable, lookUp } from './agents.ts'
import { barriersOf, describeInBrowser } from './chromium.ts'

async function agentWithRuns() {
  const same = asks(['look_up', { what: 'Lisbon' }])
  const model = scriptedModel([same, same, same, 'Lisbon.', asks(['book', { seat: '1A' }]), 'Booked.'])
  const agent = createAgent({ name: 'guide', model, tools: [lookUp, bookable()], journal: memoryJournal() })
  await agent.run('Where to?', { runId: 'done' })
  await agent.run('Book it.', { runId: 'waiting' })
  return agent
}

/** A chart that scrolls takes a moment. */
const PATIENT = { timeout: 15_000 }

const tabs = { wide: ['timeline', 'transcript', 'memory', 'limits'], narrow: ['chart', 'timeline'] } as const

describeInBrowser('the page', ({ open }) => {
  it.each(['light', 'dark'] as const)('has no barriers that axe knows of, in %s', async (colorScheme) => {
    const agent = await agentWithRuns()
    const page = await open({ agent, colorScheme })
    await page.getByRole('link', { name: 'Where to?' }).waitFor()
    expect(await barriersOf(page), 'the list').toEqual([])
    await page.getByRole('link', { name: 'Where to?' }).click()
    await page.getByText('state: done').waitFor()
    for (const tab of tabs.wide) {
      await page.locator(`#tab-${tab}`).click()
      expect(await barriersOf(page), tab).toEqual([])
    }
    await page.locator('#tab-timeline').click()
    await page.locator('.row-tool').first().click()
    expect(await barriersOf(page), 'the past').toEqual([])
    await page.getByRole('button', { name: 'Fork' }).click()
    expect(await barriersOf(page), 'a dialog').toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Book it.' }).click()
    await page.locator('.approval').waitFor()
    await page.getByRole('button', { name: 'Edit arguments' }).click()
    expect(await barriersOf(page), 'a decision').toEqual([])
  })

  it('fits a phone: nothing is wider than it, and the list leads to a run and back', async () => {
    const agent = await agentWithRuns()
    const page = await open({ agent, width: 390, height: 844 })
    const widths = () => page.evaluate('[document.documentElement.scrollWidth, innerWidth]')
    await page.getByRole('link', { name: 'Book it.' }).click()
    await page.locator('.approval').waitFor()
    for (const tab of [...tabs.narrow, ...tabs.wide]) {
      await page.locator(`#tab-${tab}`).click()
      expect(await widths(), tab).toEqual([390, 390])
    }
    expect(await barriersOf(page)).toEqual([])
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('link', { name: 'Where to?' }).waitFor()
    expect(await widths()).toEqual([390, 390])
  })

  it('brings the state of the run into sight where the chart is larger than its box', async () => {
    const agent = await agentWithRuns()
    const page = await open({ agent, width: 390, height: 844, hash: '#/run/done' })
    await page.locator('#tab-chart').click()
    await expect.poll(() => page.evaluate(isInSight('#state_done')), PATIENT).toBe(true)
    await page.keyboard.press('Home')
    await expect.poll(() => page.evaluate(isInSight('#state_thinking_calling')), PATIENT).toBe(true)
  })

  it('speaks the language of its reader, or the one that was chosen, and remembers that', async () => {
    const agent = await agentWithRuns()
    const page = await open({ agent, locale: 'zh-CN', hash: '#/run/waiting' })
    await page.getByRole('heading', { name: '1 个调用等待你的决定' }).waitFor()
    expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN')
    await page.getByRole('button', { name: 'Switch to English' }).click()
    await page.getByRole('heading', { name: 'A call waits for your decision' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'A call waits for your decision' }).waitFor()
  })

  it('has the colours that were chosen, and remembers that', async () => {
    const page = await open({ agent: await agentWithRuns(), colorScheme: 'light' })
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await background()
    await page.getByLabel('Colours').selectOption('dark')
    const dark = await background()
    expect(dark).not.toBe(light)
    await page.reload()
    await page.getByRole('link', { name: 'Where to?' }).waitFor()
    expect(await background()).toBe(dark)
  })

  it('lists its keys', async () => {
    const page = await open({ agent: await agentWithRuns() })
    await page.getByRole('link', { name: 'Where to?' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })
})

/** Runs in the page: whether an element of the chart stands within its box. */
function isInSight(selector: string): string {
  return `(() => {
    const box = document.querySelector('.chart-box').getBoundingClientRect()
    const { top, bottom, left, right } = document.querySelector('${selector}').getBoundingClientRect()
    return top >= box.top && bottom <= box.bottom && left >= box.left && right <= box.right
  })()`
}
