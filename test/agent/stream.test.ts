import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type AgentEvent, createAgent, defineTool } from '../../src/index.ts'
import { HANG, scriptedModel } from '../../src/testing/index.ts'
import { expectAborted, expectDone } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'

const script = () =>
  scriptedModel([{ calls: [{ name: 'add', arguments: { a: 1, b: 2 }, id: 'c' }] }, 'The sum is 3.'])

async function eventsOf(run: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of run) events.push(event)
  return events
}

describe('a streamed run', () => {
  it('shows every step in order, and ends with its outcome', async () => {
    const run = createAgent({ model: script(), tools: [countingAdd()] }).stream('1+2?', { runId: 'r' })
    const events = await eventsOf(run)
    expect(
      events.map((event) => (event.type === 'transition' ? `→ ${event.to ?? '(stays)'}` : event.type)),
    ).toEqual([
      'run.started',
      'messages.appended',
      'limits.updated',
      'model.started',
      'model.requested',
      'model.finished',
      'usage.updated',
      '→ parsing',
      '→ executingTools',
      'messages.appended',
      'tool.started',
      'tool.finished',
      '→ (stays)',
      '→ observing',
      '→ thinking',
      'messages.appended',
      'limits.updated',
      'model.started',
      'model.requested',
      'model.delta',
      'model.delta',
      'model.delta',
      'model.delta',
      'model.finished',
      'usage.updated',
      '→ parsing',
      '→ done',
      'messages.appended',
      'run.finished',
    ])
    expect(events.every(({ runId }) => runId === 'r')).toBe(true)
    expect(events.at(-1)).toMatchObject({ type: 'run.finished', outcome: await run.outcome })
  })

  it('names the guard that decided each transition', async () => {
    const events = await eventsOf(createAgent({ model: script(), tools: [countingAdd()] }).stream('1+2?'))
    const decided = events.flatMap((event) =>
      event.type === 'transition' && event.guard ? [event.guard] : [],
    )
    expect(decided).toEqual(['hasCalls', 'everyCallSettled', 'else', 'isFinalAnswer'])
  })

  it('joins to the text of the answer', async () => {
    const events = await eventsOf(createAgent({ model: script(), tools: [countingAdd()] }).stream('1+2?'))
    const text = events.map((event) => (event.type === 'model.delta' ? event.text : '')).join('')
    expect(text).toBe('The sum is 3.')
  })

  it('says which limit fired, on what evidence', async () => {
    const model = scriptedModel([{ calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, 'closing'])
    const agent = createAgent({ model, tools: [countingAdd()], limits: { steps: 1 } })
    const events = await eventsOf(agent.stream('go'))
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'limit.reached',
        verdict: expect.objectContaining({ limit: 'steps', max: 1 }),
      }),
    )
    expect(events).toContainEqual(expect.objectContaining({ type: 'model.started', closing: true }))
  })

  it('shows the progress of tools', async () => {
    const working = defineTool({
      name: 'work',
      description: 'Works.',
      input: z.object({}),
      run: (_args, { emit }) => {
        emit({ percent: 50 })
        return 'ready'
      },
    })
    const model = scriptedModel([{ calls: [{ name: 'work', id: 'c' }] }, 'ok'])
    const events = await eventsOf(createAgent({ model, tools: [working] }).stream('go'))
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'tool.progress',
        callId: 'c',
        name: 'work',
        progress: { percent: 50 },
      }),
    )
  })

  it('can be left unread', async () => {
    const run = createAgent({ model: script(), tools: [countingAdd()] }).stream('1+2?')
    expect(expectDone(await run.outcome).output).toBe('The sum is 3.')
  })

  it('can be read after it has ended', async () => {
    const run = createAgent({ model: script(), tools: [countingAdd()] }).stream('1+2?')
    await run.outcome
    expect((await eventsOf(run)).at(-1)?.type).toBe('run.finished')
  })

  it('is aborted when its consumer leaves early', async () => {
    const run = createAgent({ model: scriptedModel([HANG]) }).stream('go')
    for await (const event of run) if (event.type === 'model.started') break
    expect(expectAborted(await run.outcome)).toMatchObject({
      reason: 'cancelled',
      message: 'The consumer of the events left.',
    })
  })

  it('can be aborted by itself, with a message', async () => {
    const run = createAgent({ model: scriptedModel([HANG]) }).stream('go')
    run.abort('enough')
    expect(expectAborted(await run.outcome).message).toBe('enough')
    expect((await eventsOf(run)).at(-1)?.type).toBe('run.finished')
  })

  it('does not stream from the model where nobody watches', async () => {
    let watched: boolean | undefined
    const model = scriptedModel([
      (_request, io) => {
        watched = io.onDelta !== undefined
        return 'hi'
      },
    ])
    await createAgent({ model }).run('go')
    expect(watched).toBe(false)
  })
})

describe('a watcher', () => {
  it('sees the same events through onEvent', async () => {
    const seen: string[] = []
    const agent = createAgent({ model: script(), tools: [countingAdd()] })
    await agent.run('1+2?', { onEvent: (event) => seen.push(event.type) })
    const streamed = (
      await eventsOf(createAgent({ model: script(), tools: [countingAdd()] }).stream('1+2?'))
    ).map(({ type }) => type)
    expect(seen).toEqual(streamed)
  })

  it('that throws costs a warning, not the run', async () => {
    const warned = once(process, 'warning')
    const outcome = await createAgent({ model: scriptedModel(['hi']) }).run('go', {
      onEvent: (event) => {
        if (event.type === 'run.started') throw new Error('logger broke')
      },
    })
    expectDone(outcome)
    expect((await warned)[0]).toMatchObject({ message: 'onEvent threw on "run.started": logger broke' })
  })
})
