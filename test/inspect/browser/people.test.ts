import { expect, it } from 'vitest'
import { createAgent, memoryJournal } from '../../../src/index.ts'
import { scriptedModel } from '../../../src/testing/index.ts'
import { asks, bookable, lookUp } from './agents.ts'
import { describeInBrowser } from './chromium.ts'

function bookingAgent() {
  const book = bookable()
  const model = scriptedModel([asks(['book', { seat: '12A' }]), 'It is settled.'])
  const agent = createAgent({ model, tools: [book, lookUp], journal: memoryJournal() })
  return { agent, model, booked: book.booked }
}

describeInBrowser('a person in the page', ({ open }) => {
  it('approves a call with a click, and the run goes on', async () => {
    const { agent, booked } = bookingAgent()
    await agent.run('Book a seat.', { runId: 'r' })
    const page = await open({ agent })
    await page.getByRole('link', { name: 'Book a seat.' }).click()
    await page.getByRole('heading', { name: 'A call waits for your decision' }).waitFor()
    await page.locator('.approval').getByText('"seat": "12A"').waitFor()
    expect(booked).toEqual([])
    await page.keyboard.press('Home')
    await page.getByRole('link', { name: 'A call waits for your decision' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('state: done').waitFor()
    expect(booked).toEqual([{ seat: '12A' }])
    expect(await page.locator('.approval').count()).toBe(0)
  })

  it('cancels a run that waits', async () => {
    const { agent, booked } = bookingAgent()
    await agent.run('Book a seat.', { runId: 'r' })
    const page = await open({ agent, hash: '#/run/r' })
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByRole('dialog').locator('button.danger').click()
    await page.getByText('state: aborted').waitFor()
    expect(booked).toEqual([])
  })

  it('rejects a call, and the model is told why', async () => {
    const { agent, model, booked } = bookingAgent()
    await agent.run('Book a seat.', { runId: 'r' })
    const page = await open({ agent, hash: '#/run/r' })
    await page.getByLabel('Reason for the model').fill('Too expensive.')
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByText('state: done').waitFor()
    expect(booked).toEqual([])
    expect(JSON.stringify(model.requests.at(-1)?.messages.at(-1))).toContain('Too expensive.')
  })

  it('changes the arguments of a call, once they are JSON', async () => {
    const { agent, booked } = bookingAgent()
    await agent.run('Book a seat.', { runId: 'r' })
    const page = await open({ agent, hash: '#/run/r' })
    await page.getByRole('button', { name: 'Edit arguments' }).click()
    const field = page.getByLabel('Arguments, as JSON')
    await field.fill('{ "seat": ')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('This is not JSON:').waitFor()
    await field.fill('{ "seat": "1C" }')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('state: done').waitFor()
    expect(booked).toEqual([{ seat: '1C' }])
  })

  it('reads what was wrong with arguments that the tool does not take, and can try again', async () => {
    const { agent, booked } = bookingAgent()
    await agent.run('Book a seat.', { runId: 'r' })
    const page = await open({ agent, hash: '#/run/r', expected: /400|422/ })
    await page.getByRole('button', { name: 'Edit arguments' }).click()
    await page.getByLabel('Arguments, as JSON').fill('{ "seat": 12 }')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.locator('.approval .problem', { hasText: 'seat' }).waitFor()
    await page.getByLabel('Arguments, as JSON').fill('{ "seat": "12B" }')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('state: done').waitFor()
    expect(booked).toEqual([{ seat: '12B' }])
  })

  it('forks a run with another result of a tool', async () => {
    const model = scriptedModel([
      asks(['look_up', { what: 'Lisbon' }]),
      'Lisbon is fine.',
      ({ messages }) => `I was told: ${messages.at(-1)?.content}`,
    ])
    const agent = createAgent({ model, tools: [lookUp], journal: memoryJournal() })
    await agent.run('Where to?', { runId: 'r' })
    const page = await open({ agent, hash: '#/run/r' })
    await page.locator('.row-tool').click()
    await page.getByRole('button', { name: 'Fork' }).click()
    await page.getByLabel('Result of look_up').fill('Lisbon is closed.')
    await page.getByRole('button', { name: 'Start the fork' }).click()
    const details = page.getByRole('region', { name: 'Details' })
    await details.getByText('I was told: Lisbon is closed.').waitFor()
    await page.getByRole('link', { name: /fork of r at step 1/ }).click()
    await details.getByText('Lisbon is fine.').waitFor()
    expect(page.url()).toMatch(/#\/run\/r$/)
  })

  it('finds runs by status and by words', async () => {
    const { agent } = bookingAgent()
    await agent.run('Book a seat.', { runId: 'r' })
    const other = createAgent({ model: scriptedModel(['Four.', 'Six.']), journal: memoryJournal() })
    await other.run('What is 2+2?')
    await other.run('What is 3+3?')
    const page = await open({ agents: [agent, other] })
    const runs = page.getByRole('navigation', { name: 'Runs' }).getByRole('listitem')
    await runs.nth(2).waitFor()
    await page.getByRole('button', { name: 'waiting' }).click()
    await page.getByText('What is 2+2?').waitFor({ state: 'detached' })
    expect(await runs.allTextContents()).toEqual([expect.stringContaining('Book a seat.')])
    await page.getByRole('button', { name: 'all', exact: true }).click()
    await page.keyboard.press('/')
    await page.keyboard.type('3+3')
    await page.getByText('Book a seat.').waitFor({ state: 'detached' })
    expect(await runs.allTextContents()).toEqual([expect.stringContaining('What is 3+3?')])
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.getByRole('region', { name: 'Details' }).getByText('Six.').waitFor()
  })
})
