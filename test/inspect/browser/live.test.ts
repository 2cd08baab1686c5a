import { expect, it } from 'vitest'
import { createAgent } from '../../../src/index.ts'
import { HANG, scriptedModel } from '../../../src/testing/index.ts'
import { asks, opened } from './agents.ts'
import { describeInBrowser } from './chromium.ts'

describeInBrowser('a live run in the page', ({ open }) => {
  it('appears in the list, and the chart moves with it', async () => {
    const [slow, slower] = [opened('slow'), opened('slower')]
    const model = scriptedModel([asks(['slow', {}], ['slower', {}]), 'Both are done.'])
    const agent = createAgent({ name: 'porter', model, tools: [slow, slower] })
    const page = await open({ agent })
    await page.getByText('No runs yet.').waitFor()
    const run = agent.run('Carry both.', { runId: 'live' })
    await page.getByRole('link', { name: 'Carry both.' }).click()

    await page.locator('.chart-state', { hasText: 'executingTools' }).waitFor()
    const states = page.locator('.chart-svg .state.active')
    expect(await states.getAttribute('id')).toBe('state_executingTools')
    await page.locator('.row-tool', { hasText: 'slower' }).waitFor()
    expect(await page.locator('.bar-tool.bar-running').count()).toBe(2)

    slow.finish('one')
    await page.locator('.bar-tool.bar-done').waitFor()
    expect(await page.locator('.bar-tool.bar-running').count()).toBe(1)
    slower.finish('two')
    await run
    await page.locator('.chart-state', { hasText: 'done' }).waitFor()
    expect(await states.getAttribute('id')).toBe('state_done')
    await page.getByRole('region', { name: 'Details' }).getByText('Both are done.').waitFor()

    const counted = page.locator('#edge_thinking_calling_model_done_parsing .edge-count')
    expect(await counted.textContent()).toBe('2×')
    const passed = await page
      .locator('.chart-svg .state.passed')
      .evaluateAll((all) => all.map(({ id }) => id))
    expect(passed).toEqual(['state_thinking_calling', 'state_parsing'])
    expect(await page.locator('#announcer').textContent()).toBe('The run is done.')
    await page.getByRole('tab', { name: 'Transcript' }).click()
    await page.getByRole('log').getByText('two', { exact: true }).waitFor()
  })

  it('shows text as it streams, and nothing jumps meanwhile', async () => {
    const { promise: end, resolve: finish } = Promise.withResolvers<void>()
    let say = (_text: string): void => {}
    const speaking = Promise.withResolvers<void>()
    const model = scriptedModel([
      async (_request, { onDelta }) => {
        say = (text) => onDelta?.({ text })
        speaking.resolve()
        await end
        return 'The end.'
      },
    ])
    const agent = createAgent({ model })
    const page = await open({ agent })
    const run = agent.run('Tell me a story.')
    await page.getByRole('link', { name: 'Tell me a story.' }).click()
    await speaking.promise
    say('Once upon a time ')
    const details = page.getByRole('region', { name: 'Details' })
    await details.getByText('Once upon a time').waitFor()
    await page.evaluate(watchShifts)
    for (let i = 0; i < 30; i += 1) {
      say(`there were ${i} words more than before, and none of them moved anything. `)
      await details.getByText(`there were ${i} words`).waitFor()
    }
    expect(await page.evaluate('window.shifts')).toEqual([])
    finish()
    await run
    await details.getByText('The end.').waitFor()
  })

  it('can be told something, and cancelled', async () => {
    const tool = opened('wait')
    const agent = createAgent({ model: scriptedModel([asks(['wait', {}]), HANG]), tools: [tool] })
    const page = await open({ agent })
    const run = agent.run('Wait for me.', { runId: 'patient' })
    await page.getByRole('link', { name: 'Wait for me.' }).click()
    await page.locator('.row-tool').waitFor()

    await page.getByRole('button', { name: 'Message' }).click()
    await page.getByLabel('Message', { exact: true }).fill('Hurry <b>up</b>.')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'Transcript' }).click()
    await page.locator('.message-unread', { hasText: 'Hurry <b>up</b>.' }).waitFor()
    tool.finish('Waited.')
    await page.locator('.message-user:not(.message-unread)', { hasText: 'Hurry' }).waitFor()

    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByLabel('Message (optional)').fill('No longer needed.')
    await page.getByRole('button', { name: 'Cancel the run' }).click()
    expect(await run).toMatchObject({ status: 'aborted', reason: 'cancelled' })
    await page.locator('.run-head .status-aborted', { hasText: 'cancelled' }).waitFor()
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await page.getByRole('region', { name: 'Details' }).getByText('No longer needed.').waitFor()
    expect(await page.getByRole('button', { name: 'Cancel', exact: true }).count()).toBe(0)
  })
})

/** Runs in the page: remembers what moved that nobody has touched. */
const watchShifts = `
  window.shifts = []
  new PerformanceObserver((list) => {
    for (const { hadRecentInput, sources } of list.getEntries()) {
      if (hadRecentInput) continue
      for (const { node } of sources) window.shifts.push([node?.nodeName, node?.className, node?.textContent])
    }
  }).observe({ type: 'layout-shift' })
`
