import { describe, expect, it } from 'vitest'
import { type Agent, createAgent, memoryJournal } from '../../src/index.ts'
import { inspectHandler } from '../../src/inspect/index.ts'
import type { EventsPage, StreamMessage } from '../../src/inspect/protocol.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { countingAdd, deferred, returning } from '../support/tools.ts'
import { pageOf } from './support.ts'

const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 }, id: 'c' }] }
const slowly: ScriptedStep = { calls: [{ name: 'slow', id: 's' }] }

/** An agent whose tool `slow` waits for the test. */
function waiting(steps: readonly ScriptedStep[] = [slowly, 'Done.']) {
  const gate = deferred<string>()
  const tools = [returning(gate.promise, 'slow'), countingAdd()]
  const agent = createAgent({ model: scriptedModel(steps), tools })
  return { agent, goOn: () => gate.resolve('ok') }
}

/** Runs to its end what is to be watched from outside only. */
const hasEvent = (type: string) => (message: StreamMessage) =>
  message.type === 'event' && message.event.event.type === type

describe('the stream', () => {
  it('greets, then tells of a run as it goes: its row and its events, in order', async () => {
    const { agent, goOn } = waiting()
    const handler = inspectHandler({ agent })
    const stream = await pageOf(handler).stream('?run=r')
    expect(await stream.next()).toMatchObject({ type: 'hello' })
    const run = agent.run('go', { runId: 'r' })
    const running = await stream.until(({ type }) => type === 'run')
    expect(running).toMatchObject({ run: { runId: 'r', status: 'running', isLive: true, question: 'go' } })
    await stream.until(hasEvent('tool.started'))
    goOn()
    const after = await stream.eventsUntil('run.finished')
    expect(after[0]).toBe('tool.finished')
    await run
    const done = await pageOf(handler).row('r')
    expect(done).toMatchObject({ status: 'done', isLive: false, steps: 2 })
    await stream.until((message) => message.type === 'run' && message.run.status === 'done')
    handler.close()
    expect(await stream.next()).toBeUndefined()
  })

  it('gathers the pieces of a text, and loses none', async () => {
    const pieces = Array.from({ length: 500 }, (_, i) => `word${i} `)
    const agent = createAgent({ model: scriptedModel([{ pieces }]) })
    const handler = inspectHandler({ agent })
    await agent.run('go', { runId: 'r' })
    const events = await pageOf(handler).events('r')
    const deltas = events.flatMap((event) => (event.type === 'model.delta' ? [event.text] : []))
    expect(deltas.join('')).toBe(pieces.join(''))
    expect(deltas.length).toBeLessThan(20)
    handler.close()
  })

  it('shows a piece of text although nothing else happens', async () => {
    const gate = deferred<void>()
    const agent = createAgent({
      model: scriptedModel([
        async (_request, io) => {
          io.onDelta?.({ text: 'Once upon a time' })
          await gate.promise
          return { pieces: [], text: 'Once upon a time' }
        },
      ]),
    })
    const handler = inspectHandler({ agent })
    const stream = await pageOf(handler).stream('?run=r')
    const run = agent.run('go', { runId: 'r' })
    expect(await stream.until(hasEvent('model.delta'))).toMatchObject({
      event: { event: { text: 'Once upon a time' } },
    })
    gate.resolve()
    await run
    handler.close()
  })

  it('goes on after a break where it was, and repeats nothing that was received', async () => {
    const { agent, goOn } = waiting()
    const handler = inspectHandler({ agent })
    const page = pageOf(handler)
    const before = await page.stream('?run=r')
    const run = agent.run('go', { runId: 'r' })
    await before.until(hasEvent('tool.started'))
    const { lastId } = before
    const { next } = (await page.get<EventsPage>('api/runs/r/events?from=0')).body
    await before.leave()
    goOn()
    await run
    const after = await page.stream('?run=r', { 'last-event-id': lastId })
    expect(await after.next()).toMatchObject({ type: 'hello' })
    const first = await after.until(({ type }) => type === 'event')
    expect(first).toMatchObject({ event: { index: next, event: { type: 'tool.finished' } } })
    await after.until(hasEvent('run.finished'))
    await after.leave()
    handler.close()
  })

  it('can begin with any event, and with the first of a run that has not begun', async () => {
    const { agent, goOn } = waiting(['hi'])
    goOn()
    const handler = inspectHandler({ agent })
    const page = pageOf(handler)
    const early = await page.stream('?run=r')
    await early.next()
    await agent.run('go', { runId: 'r' })
    expect((await early.eventsUntil('run.finished'))[0]).toBe('run.started')
    const second = await page.stream('?run=r&from=1')
    expect((await second.eventsUntil('run.finished'))[0]).toBe('messages.appended')
    handler.close()
  })

  it('tells whoever comes from another server nothing of what that one had', async () => {
    const agent = createAgent({ model: scriptedModel(['one', 'two']) })
    const first = inspectHandler({ agent })
    const old = await pageOf(first).stream('?run=r&from=0')
    await agent.run('go', { runId: 'r' })
    await old.until(hasEvent('run.finished'))
    first.close()
    const second = inspectHandler({ agent })
    const page = pageOf(second)
    const stream = await page.stream('?run=r', { 'last-event-id': old.lastId })
    const hello = await stream.next()
    expect(hello).toMatchObject({ type: 'hello' })
    expect(JSON.stringify(hello)).not.toContain(old.lastId.split('/')[0])
    await agent.run('go', { runId: 'r' })
    expect((await stream.eventsUntil('run.finished'))[0]).toBe('run.started')
    second.close()
  })

  it('tells of other runs only that they have changed', async () => {
    const agent = createAgent({ model: scriptedModel(['one', 'two']) })
    const handler = inspectHandler({ agent })
    const stream = await pageOf(handler).stream('?run=mine')
    await stream.next()
    await agent.run('go', { runId: 'other' })
    await agent.run('go', { runId: 'mine' })
    const seen: StreamMessage[] = []
    await stream.until((message) => {
      seen.push(message)
      return hasEvent('run.finished')(message)
    })
    const rows = seen.flatMap((message) => (message.type === 'run' ? [message.run.runId] : []))
    expect(rows).toContain('other')
    const told = seen.flatMap((message) => (message.type === 'event' ? [message.runId] : []))
    expect(new Set(told)).toEqual(new Set(['mine']))
    handler.close()
  })

  it.each(['', 'x', '1/2/3', '///', `${'9'.repeat(400)}/1/1/live1`])(
    'is not led astray by the id "%s"',
    async (lastId) => {
      const agent = createAgent({ model: scriptedModel(['one']) })
      const handler = inspectHandler({ agent })
      const stream = await pageOf(handler).stream(
        '?run=r&from=0',
        lastId === '' ? {} : { 'last-event-id': lastId },
      )
      await agent.run('go', { runId: 'r' })
      await stream.until(hasEvent('run.finished'))
      handler.close()
    },
  )
})

describe('a client that does not keep up', () => {
  const many = Array.from(
    { length: 300 },
    (_, i): ScriptedStep => ({ calls: [{ name: 'add', arguments: { a: i, b: 1 } }] }),
  )
  const endless = { steps: Infinity, repeats: Infinity, stagnation: Infinity }

  function busy(): Agent {
    return createAgent({ model: scriptedModel([...many, 'Done.']), tools: [countingAdd()], limits: endless })
  }

  it('does not hold up the run, and is told everything later as long as it is kept', async () => {
    const agent = busy()
    const handler = inspectHandler({ agent })
    const stream = await pageOf(handler).stream('?run=r&from=0')
    await stream.next()
    const outcome = await agent.run('go', { runId: 'r' })
    expect(outcome).toMatchObject({ status: 'done', steps: 301 })
    const types = await stream.eventsUntil('run.finished')
    expect(types.filter((type) => type === 'tool.finished')).toHaveLength(300)
    handler.close()
  })

  it('is told that it is behind where events were dropped, and reads anew', async () => {
    const agent = busy()
    const handler = inspectHandler({ agent, bounds: { ofRun: { events: 100, bytes: 1_000_000 } } })
    const page = pageOf(handler)
    const stream = await page.stream('?run=r&from=0')
    await stream.next()
    await agent.run('go', { runId: 'r' })
    expect(await stream.until(({ type }) => type === 'behind')).toEqual({ type: 'behind' })
    const { body } = await page.get<EventsPage>('api/runs/r/events?from=0')
    expect(body.dropped).toBeGreaterThan(1000)
    expect(body.events[0]?.index).toBe(body.dropped)
    expect(body.events.length).toBeLessThanOrEqual(100)
    expect(body.events.at(-1)?.event.type).toBe('run.finished')
    handler.close()
  })

  it('is told so, too, where more runs have changed than it could follow', async () => {
    const agent = createAgent({ model: { ...scriptedModel([]), generate: scriptedForever } })
    const handler = inspectHandler({ agent })
    const stream = await pageOf(handler).stream()
    await stream.next()
    for (let i = 0; i < 300; i++) await agent.run('go', { runId: `r${i}` })
    await stream.until(({ type }) => type === 'behind')
    await agent.run('go', { runId: 'last' })
    expect(await stream.until(({ type }) => type === 'run')).toMatchObject({ run: { runId: 'last' } })
    handler.close()
  })

  it('that has left is forgotten: there is room for others', async () => {
    const agent = createAgent({ model: scriptedModel([]) })
    const handler = inspectHandler({ agent })
    const page = pageOf(handler)
    for (let i = 0; i < 300; i++) {
      const stream = await page.stream('?run=r')
      await stream.next()
      await stream.leave()
    }
    const left = new AbortController()
    for (let i = 0; i < 150; i++) {
      await handler.fetch(new Request('http://app.test/api/stream', { signal: left.signal }))
      if (i === 99) left.abort()
    }
    const refused = await Promise.all(
      Array.from({ length: 60 }, () => handler.fetch(new Request('http://app.test/api/stream'))),
    )
    expect(refused.filter(({ status }) => status === 503).length).toBe(10)
    handler.close()
  })
})

async function scriptedForever() {
  const text = 'hi'
  const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }
  return {
    text,
    toolCalls: [],
    finish: 'stop',
    usage,
    message: { role: 'assistant', content: text },
  } as const
}

describe('what other processes write', () => {
  it('is told in the list and in the run that is looked at', async () => {
    const journal = memoryJournal()
    const { agent: other, goOn } = waiting()
    const elsewhere = createAgent({ ...other.options, journal })
    const handler = inspectHandler({ journal, pollMs: 1 })
    const begun = deferred<void>()
    const run = elsewhere.run('go', {
      runId: 'r',
      onEvent: ({ type }) => type === 'tool.started' && begun.resolve(),
    })
    await begun.promise
    const page = pageOf(handler)
    const stream = await page.stream('?run=r&from=0')
    await stream.until(hasEvent('tool.started'))
    goOn()
    await run
    const types = await stream.eventsUntil('run.finished')
    expect(types).toContain('tool.finished')
    expect(await page.row('r')).toMatchObject({ status: 'done', isLive: false })
    await elsewhere.fork('r', { at: 2, reply: 'Otherwise.', runId: 'f' })
    const changed = await stream.until((message) => message.type === 'run' && message.run.runId === 'f')
    expect(changed).toMatchObject({ run: { forkOf: { runId: 'r', at: 2 } } })
    handler.close()
  })

  it('replaces what was seen here of a run that goes on there', async () => {
    const journal = memoryJournal()
    const tools = [{ ...countingAdd(), needsApproval: true }]
    const here = createAgent({ model: scriptedModel([adding]), tools, journal })
    const handler = inspectHandler({ agent: here, pollMs: 1 })
    const page = pageOf(handler)
    await here.run('1+2?', { runId: 'r' })
    expect(await page.row('r')).toMatchObject({ status: 'waiting' })
    const stream = await page.stream('?run=r')
    await stream.next()
    const there = createAgent({ model: scriptedModel(['It is 3.']), tools, journal })
    // The times of both processes must differ for anybody to see who wrote last.
    while (Date.now() <= (await page.row('r')).updatedAt) await new Promise(setImmediate)
    await there.resume('r', { decisions: [{ callId: 'c', approved: true }] })
    await stream.until((message) => message.type === 'run' && message.run.status === 'done')
    expect(await page.row('r')).toMatchObject({ status: 'done', steps: 2 })
    expect((await page.events('r')).at(-1)).toMatchObject({
      type: 'run.finished',
      outcome: { status: 'done' },
    })
    handler.close()
  })
})
