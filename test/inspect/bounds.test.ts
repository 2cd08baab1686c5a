import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type AgentEvent, createAgent, defineTool, memoryJournal } from '../../src/index.ts'
import { inspectHandler } from '../../src/inspect/index.ts'
import { keepEvent } from '../../src/inspect/keptEvent.ts'
import { plainJson } from '../../src/inspect/plainJson.ts'
import type { EventsPage } from '../../src/inspect/protocol.ts'
import { EventBuffer, pageOf as pageRange } from '../../src/inspect/timeline.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { countingAdd, deferred } from '../support/tools.ts'
import { pageOf } from './support.ts'

const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }

/** An agent that answers every question with so many characters. */
function answering(length: number, journal = memoryJournal()) {
  const text = 'x'.repeat(length)
  const generate = async () =>
    ({ text, toolCalls: [], finish: 'stop', usage, message: { role: 'assistant', content: text } }) as const
  return createAgent({ model: { id: 'm', generate }, journal })
}

describe('the memory of the inspector', () => {
  it('holds so many runs that have ended, and tells earlier ones from their journal', async () => {
    const agent = answering(10)
    const page = pageOf(inspectHandler({ agent, bounds: { runs: 20 } }))
    for (let i = 0; i < 100; i++) await agent.run('go', { runId: `r${i}` })
    const kept: string[] = []
    for (let i = 0; i < 100; i++) {
      const { body } = await page.get<EventsPage>(`api/runs/r${i}/events?from=0`)
      expect(body.events.at(-1)?.event.type).toBe('run.finished')
      if (body.numbering?.startsWith('live') === true) kept.push(`r${i}`)
    }
    expect(kept.length).toBeLessThanOrEqual(23)
    expect(kept.at(-1)).toBe('r99')
    expect(await page.rows('?limit=200')).toHaveLength(100)
  })

  it('holds so many bytes, whatever runs are under way', async () => {
    const hanging = createAgent({ model: scriptedModel(Array.from({ length: 50 }, () => HANG)) })
    const page = pageOf(inspectHandler({ agent: hanging, bounds: { runs: 1, bytes: 100_000 } }))
    const begun: Promise<void>[] = []
    const runs = Array.from({ length: 50 }, (_, i) => {
      const requested = deferred<void>()
      begun.push(requested.promise)
      const onEvent = ({ type }: AgentEvent) => type === 'model.requested' && requested.resolve()
      return hanging.run('x'.repeat(5000), { runId: `r${i}`, onEvent })
    })
    await Promise.all(begun)
    const rows = await page.rows('?limit=200')
    expect(rows).toHaveLength(50)
    let characters = 0
    let dropped = 0
    for (const { runId } of rows) {
      const { body } = await page.get<EventsPage>(`api/runs/${runId}/events?from=0`)
      characters += JSON.stringify(body.events).length
      dropped += body.dropped
    }
    expect(characters).toBeLessThan(120_000)
    expect(dropped).toBeGreaterThan(0)
    for (const { abort } of hanging.activeRuns()) abort()
    await Promise.all(runs)
  })

  it('is told from the journal once the run is over, where events were dropped', async () => {
    const steps = Array.from(
      { length: 50 },
      (_, i): ScriptedStep => ({ calls: [{ name: 'add', arguments: { a: i, b: 1 } }] }),
    )
    const agent = createAgent({
      model: scriptedModel([...steps, 'Done.']),
      tools: [countingAdd()],
      journal: memoryJournal(),
      limits: { steps: Infinity, repeats: Infinity, stagnation: Infinity },
    })
    const page = pageOf(inspectHandler({ agent, bounds: { ofRun: { events: 50, bytes: 1_000_000 } } }))
    await agent.run('go', { runId: 'r' })
    const { body } = await page.get<EventsPage>('api/runs/r/events?from=0')
    expect(body.dropped).toBe(0)
    expect(body.events[0]?.event.type).toBe('run.started')
  })

  it('abridges the requests of a long run before it drops anything', () => {
    const buffer = new EventBuffer('n', { events: 1000, bytes: 4_000_000 })
    const message = { role: 'user', content: 'x'.repeat(100_000) } as const
    const request = { messages: [message], tools: [], toolChoice: 'auto' } as const
    for (let i = 0; i < 100; i++) {
      buffer.push(
        keepEvent({
          runId: 'r',
          at: i,
          type: 'model.requested',
          place: `model.${i}.1`,
          closing: false,
          request,
        }),
      )
    }
    expect([buffer.first, buffer.next]).toEqual([0, 100])
    expect(buffer.bytes).toBeLessThan(4_000_000)
    expect(buffer.at(0)?.whole).toBeUndefined()
    expect(buffer.at(99)?.whole?.()).toContain('xxxx')
  })

  it('counts what it holds, and pages through all of it in order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 200 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 200, max: 3000 }),
        (sizes, events, bytes) => {
          const buffer = new EventBuffer('n', { events, bytes })
          for (const size of sizes) {
            buffer.push({ text: JSON.stringify('x'.repeat(size)), isAbridged: false, bytes: size + 2 })
            expect(buffer.next - buffer.first).toBeLessThanOrEqual(events)
          }
          expect(buffer.next).toBe(sizes.length)
          let held = 0
          let from = 0
          for (;;) {
            const range = pageRange(buffer, from, { events: 7, characters: 500 })
            for (let i = range.from; i < range.to; i++) {
              expect(buffer.at(i)?.text.length).toBe((sizes[i] ?? 0) + 2)
              held += buffer.at(i)?.bytes ?? 0
            }
            if (range.to === buffer.next) break
            expect(range.to).toBeGreaterThan(Math.max(from, buffer.first))
            from = range.to
          }
          expect(held).toBe(buffer.bytes)
        },
      ),
    )
  })
})

describe('what no JSON can say', () => {
  it.each<[string, unknown, unknown]>([
    ['a big number', { n: 10n }, { n: '10' }],
    ['nothing', undefined, null],
    [
      'what throws when it is read',
      {
        get x() {
          throw new Error('no')
        },
      },
      '(cannot be shown)',
    ],
    [
      'what throws when it is made JSON',
      {
        a: 1n,
        toJSON() {
          throw new Error('no')
        },
      },
      '(cannot be shown)',
    ],
    ['a lone surrogate', '\ud800', '\ud800'],
  ])('is told in words: %s', (_what, value, told) => {
    expect(JSON.parse(plainJson(value))).toEqual(told)
  })

  it('is told in words: a cycle', () => {
    const cycle: Record<string, unknown> = { name: 'a', list: [1n] }
    cycle.self = cycle
    expect(JSON.parse(plainJson(cycle))).toEqual({ name: 'a', list: ['1'], self: '(the same again)' })
  })

  it('comes from tools, and hides no event', async () => {
    const odd = defineTool({
      name: 'odd',
      description: 'Reports what cannot be shown.',
      input: z.object({}),
      run: (_args, { emit }) => {
        const cycle: Record<string, unknown> = { big: 1n }
        cycle.self = cycle
        emit(cycle)
        return '</script><img src=x onerror=alert(1)>'
      },
    })
    const agent = createAgent({
      model: scriptedModel([{ calls: [{ name: 'odd', id: 'c' }] }, 'ok']),
      tools: [odd],
    })
    const handler = inspectHandler({ agent })
    await agent.run('go', { runId: 'r' })
    const answer = await handler.fetch(new Request('http://app.test/api/runs/r/events'))
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    const events = await pageOf(handler).events('r')
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'tool.progress', progress: { big: '1', self: '(the same again)' } }),
    )
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'tool.finished', content: '</script><img src=x onerror=alert(1)>' }),
    )
  })

  it('changes nothing of what was kept when a tool changes its report afterwards', async () => {
    const report = { percent: 10 }
    const tool = defineTool({
      name: 'work',
      description: 'Works.',
      input: z.object({}),
      run: (_args, { emit }) => {
        emit(report)
        report.percent = 100
        return 'ok'
      },
    })
    const agent = createAgent({ model: scriptedModel([{ calls: [{ name: 'work' }] }, 'ok']), tools: [tool] })
    const page = pageOf(inspectHandler({ agent }))
    await agent.run('go', { runId: 'r' })
    expect(await page.events('r')).toContainEqual(expect.objectContaining({ progress: { percent: 10 } }))
  })
})
