import { expect, it } from 'vitest'
import { createAgent, type Journal, JournalError, memoryJournal } from '../../../src/index.ts'
import { scriptedModel } from '../../../src/testing/index.ts'
import { asks, lookUp } from './agents.ts'
import { describeInBrowser } from './chromium.ts'

async function storedRun() {
  const journal = memoryJournal()
  const model = scriptedModel([
    asks(['look_up', { what: 'Lisbon' }], ['look_up', { what: 'Porto' }]),
    asks(['look_up', { what: 'Faro' }]),
    'All three are fine.',
  ])
  const agent = createAgent({ name: 'guide', model, tools: [lookUp], journal })
  await agent.run('Where shall I go?', { runId: 'past' })
  return journal
}

describeInBrowser('a stored run in the page', ({ open }) => {
  it('opens without an agent, and nothing can be done to it', async () => {
    const page = await open({ journal: await storedRun() })
    await page.getByRole('link', { name: 'Where shall I go?' }).click()
    await page.getByRole('region', { name: 'Details' }).getByText('All three are fine.').waitFor()
    await page.getByRole('button', { name: 'calls only' }).click()
    expect(await page.locator('.row-model').count()).toBe(3)
    for (const name of ['Cancel', 'Message', 'Resume', 'Fork'])
      expect(await page.getByRole('button', { name, exact: true }).count(), name).toBe(0)
  })

  it('is not said to be missing where the list cannot be read', async () => {
    const list: Journal['list'] = () => {
      throw new Error('the disk is on fire')
    }
    const page = await open({ journal: { ...memoryJournal(), list }, expected: /50\d/ })
    await page.getByText('The runs cannot be read: ').waitFor()
    await page.getByText('the disk is on fire').waitFor()
  })

  it('is looked at in the past: state, transcript and limits are what they were', async () => {
    const page = await open({ journal: await storedRun(), hash: '#/run/past' })
    await page.locator('.row-tool', { hasText: 'Porto' }).click()
    const details = page.getByRole('region', { name: 'Details' })
    await details.getByText('There is much to say of Porto.').waitFor()
    expect(page.url()).toMatch(/#\/run\/past\/\d+$/)
    expect(await page.locator('.chart-state').textContent()).toBe('state: executingTools')
    await page.getByRole('tab', { name: 'Limits' }).click()
    const steps = page.getByRole('meter', { name: 'steps' })
    expect(await steps.getAttribute('aria-valuetext')).toBe('1 of 8')
    await page.getByRole('tab', { name: 'Transcript' }).click()
    await page.getByRole('log').locator('.message').first().waitFor()
    expect(await page.getByRole('log').locator('.message').count()).toBe(2)
    await page.getByRole('button', { name: 'Newest' }).click()
    await page.getByText('state: done').waitFor()
    expect(await page.getByRole('log').locator('.message').count()).toBe(7)
    expect(page.url()).toMatch(/#\/run\/past$/)
  })

  it('can be gone through by keys and by the slider', async () => {
    const page = await open({ journal: await storedRun(), hash: '#/run/past' })
    await page.getByText('state: done').waitFor()
    await page.keyboard.press('Home')
    await page.getByText('state: thinking.calling').waitFor()
    const slider = page.getByRole('slider', { name: 'Position in the run' })
    const last = await slider.getAttribute('max')
    const visited = new Set<string | null>()
    for (let at = await slider.inputValue(); at !== last; at = await slider.inputValue()) {
      visited.add(await page.locator('.chart-state').textContent())
      await page.keyboard.press('ArrowRight')
      await expect.poll(() => slider.inputValue(), { timeout: 15_000 }).not.toBe(at)
    }
    visited.add(await page.locator('.chart-state').textContent())
    expect([...visited]).toEqual([
      'state: thinking.calling',
      'state: parsing',
      'state: executingTools',
      'state: observing.recording',
      'state: done',
    ])
    await page.keyboard.press('Home')
    // Faster than the page is drawn, as a key does that is held down.
    await page.evaluate(`
      for (const key of Array(5).fill('ArrowRight'))
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
    `)
    await page.getByText('event 7 of').waitFor()
    await slider.fill('0')
    await page.getByText('event 0 of').waitFor()
    expect(await page.locator('.chart-svg .state.active').getAttribute('id')).toBe('state_thinking_calling')
    await page.keyboard.press('End')
    await page.getByText('state: done').waitFor()
  })

  it('has addresses that lead to the same moment again', async () => {
    const journal = await storedRun()
    const first = await open({ journal, hash: '#/run/past' })
    await first.locator('.row-tool', { hasText: 'Faro' }).click()
    const details = first.getByRole('region', { name: 'Details' })
    await details.getByText('There is much to say of Faro.').waitFor()
    const { hash } = new URL(first.url())
    const where = await first.locator('.where').textContent()
    const second = await open({ journal, hash })
    await second.getByText(`${where}`).waitFor()
    await second.getByRole('region', { name: 'Details' }).getByText('There is much to say of Faro.').waitFor()
  })

  it('shows what the model was sent, and what of the transcript was in it', async () => {
    const page = await open({ journal: await storedRun(), hash: '#/run/past' })
    await page.getByRole('button', { name: 'calls only' }).click()
    await page.locator('.row-model', { hasText: 'model 2' }).click()
    await page.getByText('Request as sent').click()
    await page.locator('.details .json', { hasText: '"toolChoice": "auto"' }).waitFor()
    await page.getByRole('tab', { name: 'Memory' }).click()
    await page.getByText('4 shown, 0 shortened, 0 left out').waitFor()
  })

  it('whose requests are long is shown what was in them, too', async () => {
    const model = scriptedModel([asks(['look_up', { what: 'Faro' }]), 'Read.'])
    const agent = createAgent({ model, tools: [lookUp] })
    const page = await open({ agent })
    await agent.run(`Read this. ${'Word by word. '.repeat(10_000)}`, { runId: 'wordy' })
    await page.getByRole('link', { name: 'Read this.' }).click()
    await page.getByRole('tab', { name: 'Memory' }).click()
    await page.getByText('3 shown, 0 shortened, 0 left out').waitFor()
  })

  it('that cannot be read says why, and the others can be read', async () => {
    const stored = await storedRun()
    const broken = createAgent({ model: scriptedModel(['Yes.']), journal: stored })
    await broken.run('Is it whole?', { runId: 'broken' })
    const journal: Journal = {
      ...stored,
      list: (query) => stored.list(query),
      load(runId) {
        if (runId === 'broken') throw new JournalError('Entry 1 is no JSON.', { runId, position: 1 })
        return stored.load(runId)
      },
    }
    const page = await open({ journal, expected: /422/ })
    await page.getByRole('link', { name: 'Entry 1 is no JSON.' }).click()
    await page.getByRole('alert').getByText('This run cannot be read: Entry 1 is no JSON.').waitFor()
    await page.getByRole('link', { name: 'Where shall I go?' }).click()
    await page.getByText('state: done').waitFor()
  })

  it('that is not there is said not to be', async () => {
    const journal = await storedRun()
    const page = await open({ journal, hash: '#/run/other', expected: /404/ })
    await page.getByText('There is no such run.').waitFor()
    await page.getByRole('link', { name: 'Where shall I go?' }).waitFor()
  })
})
