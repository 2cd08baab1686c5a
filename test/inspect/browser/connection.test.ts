import { expect, it } from 'vitest'
import { createAgent, memoryJournal } from '../../../src/index.ts'
import { inspect } from '../../../src/inspect/index.ts'
import { scriptedModel } from '../../../src/testing/index.ts'
import { asks, lookUp, opened } from './agents.ts'
import { describeInBrowser } from './chromium.ts'

/** What a browser says of connections that are broken on purpose. */
const broken = /ERR_|Failed to load/

describeInBrowser('the page and its server', ({ mount, page, after }) => {
  it('are connected again after a break, and nothing of the run is missing', async () => {
    const tool = opened('wait')
    const agent = createAgent({ model: scriptedModel([asks(['wait', {}]), 'Back again.']), tools: [tool] })
    const mounted = await mount({ agent })
    const tab = await page(mounted.url, { expected: broken })
    const run = agent.run('Stay.', { runId: 'r' })
    await tab.getByRole('link', { name: 'Stay.' }).click()
    await tab.locator('.row-tool').waitFor()
    mounted.breakConnections()
    tool.finish('Waited.')
    await run
    await tab.getByText('state: done').waitFor()
    await tab.getByRole('status').getByText('Connected').waitFor()
    const rows = await tab.locator('.row').allTextContents()
    expect(rows.filter((row) => row.includes('model done'))).toHaveLength(2)
  })

  it('catch up after the process has started again', async () => {
    const journal = memoryJournal()
    const agentOf = (script: Parameters<typeof scriptedModel>[0]) =>
      createAgent({ name: 'guide', model: scriptedModel(script), tools: [lookUp], journal })
    const before = agentOf([asks(['look_up', { what: 'Faro' }]), 'Faro it is.'])
    const mounted = await mount({ agent: before })
    const tab = await page(mounted.url, { expected: broken })
    await before.run('Where to?', { runId: 'first' })
    await tab.getByRole('link', { name: 'Where to?' }).click()
    await tab.getByText('state: done').waitFor()

    await mounted.close()
    await tab.getByText('Connection lost, trying again').waitFor()
    const agent = agentOf(['Porto.'])
    await agent.run('And then?', { runId: 'second' })
    await mount({ agent, port: mounted.port })
    await tab.getByRole('link', { name: 'And then?' }).click()
    await tab.getByRole('status').getByText('Connected').waitFor()
    await tab.getByRole('region', { name: 'Details' }).getByText('Porto.').waitFor()
    await tab.getByRole('link', { name: 'Where to?' }).click()
    await tab.getByRole('region', { name: 'Details' }).getByText('Faro it is.').waitFor()
  })

  it('go on where the page could not keep up: it says so, and reads what it has missed', async () => {
    const agent = createAgent({ model: scriptedModel(['All of it.']), journal: memoryJournal() })
    const mounted = await mount({ agent })
    await agent.run('Too fast.', { runId: 'r' })
    const tab = await page('about:blank', { expected: broken })
    const messages = [{ type: 'hello', instance: 'i' }, { type: 'behind' }]
    const body = messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join('')
    await tab.route('**/api/stream*', (route) => route.fulfill({ contentType: 'text/event-stream', body }))
    await tab.goto(`${mounted.url}#/run/r`)
    await tab.getByText('Some events were left out while the page could not keep up').waitFor()
    await tab.getByRole('region', { name: 'Details' }).getByText('All of it.').waitFor()
  })

  it('tell a person to open the new address where the old one does not let in any more', async () => {
    const agent = createAgent({ model: scriptedModel([]) })
    const first = await inspect({ agent })
    const tab = await page(first.url, { expected: broken })
    await tab.getByRole('status').getByText('Connected').waitFor()
    await first.close()
    const second = await inspect({ agent, port: first.port })
    after(() => second.close())
    await tab.getByText('Not allowed: open the address that the process printed').waitFor()
    await tab.goto(second.url)
    await tab.getByRole('status').getByText('Connected').waitFor()
  })
})
