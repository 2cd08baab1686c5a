import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type AgentEvent,
  createAgent,
  defineTool,
  type Message,
  memoryJournal,
  type Tool,
} from '../../../src/index.ts'
import { type ScriptedReply, type ScriptedStep, scriptedModel } from '../../../src/testing/index.ts'
import { expectDone, expectSendable } from '../../support/outcome.ts'

/** Answers each call with the next result, and with the last one from then on. */
function answering(results: readonly unknown[], options: { name?: string; repeatable?: boolean } = {}): Tool {
  const left = [...results]
  return defineTool({
    name: 'look',
    description: 'Looks.',
    input: z.looseObject({}),
    ...options,
    run: () => (left.length > 1 ? left.shift() : left[0]),
  })
}

const looking = (args: unknown = {}, name = 'look'): ScriptedReply => ({ calls: [{ name, arguments: args }] })
const times = (count: number, step: ScriptedReply = looking()): ScriptedReply[] => Array(count).fill(step)
const results = (transcript: readonly Message[]): string[] =>
  transcript.flatMap((message) => (message.role === 'tool' ? [message.content] : []))

async function run(steps: readonly ScriptedStep[], tools: readonly Tool[], limits: object = {}) {
  const events: AgentEvent[] = []
  const agent = createAgent({ model: scriptedModel(steps), tools, limits: { steps: 30, ...limits } })
  const outcome = expectDone(await agent.run('go', { onEvent: (event) => events.push(event) }))
  expectSendable(outcome)
  return { outcome, events, results: results(outcome.transcript) }
}

describe('the same call with the same result', () => {
  it('is warned of for each call of a step, the one that was repeated most first', async () => {
    const both: ScriptedReply = { calls: [1, 2].map((n) => ({ name: 'look', arguments: { n } })) }
    const steps = [looking({ n: 2 }), both, both]
    const { events, results: shown } = await run([...steps, 'ok'], [answering(['nothing'])], {
      repeats: { warn: 2 },
      stagnation: Number.POSITIVE_INFINITY,
    })
    const warned = events.flatMap((event) => (event.type === 'limit.warned' ? event.warning.text : []))
    const notes = shown.slice(3).map((content) => content.split('\n\n')[1])
    expect(warned.slice(1)).toEqual([notes[1], notes[0]])
    expect(notes[0]).not.toBe(notes[1])
  })

  it('is answered with the result and a warning the second time, and concludes the third time', async () => {
    const ran = await run([...times(3), 'closing'], [answering(['nothing'])])
    expect(ran.results[0]).toBe('nothing')
    expect(ran.results[1]).toMatch(/^nothing\n\n\(Note: you have called look with the same arguments 2 times/)
    expect(ran.outcome).toMatchObject({
      output: 'closing',
      steps: 3,
      stoppedBy: {
        limit: 'repeats',
        max: 3,
        reaction: 'conclude',
        evidence: 'look was called 3 times with the same arguments and brought nothing new',
      },
    })
    expect(ran.events).toContainEqual(
      expect.objectContaining({
        type: 'limit.warned',
        warning: expect.objectContaining({
          limit: 'repeats',
          max: 2,
          text: ran.results[1]?.split('\n\n')[1],
        }),
      }),
    )
  })

  it('is the same whatever the order of the keys and the spaces in its arguments', async () => {
    const spelled = [
      '{"a":1,"b":{"c":2,"d":3}}',
      '{ "b": {"d":3, "c":2}, "a": 1 }',
      '{"a":1,"b":{"c":2,"d":3}}',
    ]
    const steps = spelled.map((args) => looking(args))
    expect((await run([...steps, 'closing'], [answering(['nothing'])])).outcome.stoppedBy?.limit).toBe(
      'repeats',
    )
  })

  it('counts anywhere in the run, also where other calls come between', async () => {
    const between = (n: number) => looking({ n }, 'other')
    const steps = [looking(), between(1), between(2), looking(), between(3), between(4), looking()]
    const ran = await run(
      [...steps, 'closing'],
      [answering(['nothing']), answering([1, 2, 3, 4], { name: 'other' })],
    )
    expect(ran.outcome.stoppedBy).toMatchObject({ limit: 'repeats', max: 3 })
    expect(ran.outcome.steps).toBe(7)
  })

  it.each([2, 3, 4])('is found in a cycle of %i calls', async (period) => {
    const cycle = Array.from({ length: 12 }, (_, i) => looking({ n: i % period }))
    const limits = { stagnation: Number.POSITIVE_INFINITY }
    const ran = await run([...cycle.slice(0, period * 2 + 1), 'closing'], [answering(['same'])], limits)
    expect(ran.outcome.stoppedBy?.limit).toBe('repeats')
    expect(ran.outcome.steps).toBe(period * 2 + 1)
  })

  it('is found where a set of parallel calls repeats', async () => {
    const both: ScriptedReply = {
      calls: [
        { name: 'look', arguments: { n: 1 } },
        { name: 'look', arguments: { n: 2 } },
      ],
    }
    const ran = await run([both, both, both, 'closing'], [answering(['same'])])
    expect(ran.results.map((result) => result.includes('(Note:'))).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
    ])
    expect(ran.outcome.stoppedBy?.limit).toBe('repeats')
  })

  it('is found where one of its results comes back, as when a switch is put on and off', async () => {
    const switching = answering(['on', 'off', 'on', 'off'])
    const ran = await run([...times(4), 'closing'], [switching])
    expect(ran.results[2]).toContain('(Note:')
    expect(ran.outcome.steps).toBe(4)
  })

  it('is found where a person keeps refusing it', async () => {
    const journal = memoryJournal()
    const tools = [{ ...answering(['never']), needsApproval: true }]
    const agent = createAgent({ model: scriptedModel([...times(3), 'closing']), tools, journal })
    let outcome = await agent.run('go', { runId: 'r' })
    for (let asked = 0; outcome.status === 'waiting'; asked++) {
      expect(asked).toBeLessThan(3)
      const decisions = outcome.approvals.map(({ callId }) => ({ callId, approved: false }))
      outcome = await agent.resume('r', { decisions })
    }
    expect(expectDone(outcome).stoppedBy).toMatchObject({ limit: 'repeats', max: 3 })
  })

  it('is found where it fails', async () => {
    const steps = [looking({}, 'nope'), looking({}, 'nope')]
    const ran = await run([...steps, 'closing'], [], { repeats: { conclude: 2 } })
    expect(ran.outcome.stoppedBy?.limit).toBe('repeats')
  })

  it('runs each time, because only its result can show that nothing is new', async () => {
    let runs = 0
    const counting = defineTool({
      name: 'look',
      description: 'Counts.',
      input: z.object({}),
      run: () => {
        runs++
        return 'same'
      },
    })
    await run([...times(3), 'closing'], [counting])
    expect(runs).toBe(3)
  })

  it('within one reply runs once and is no repetition', async () => {
    const twice: ScriptedReply = { calls: [{ name: 'look' }, { name: 'look' }, { name: 'look' }] }
    const ran = await run([twice, 'enough'], [answering(['same'])], { repeats: { conclude: 2 } })
    expect(ran.outcome).toMatchObject({ output: 'enough', toolCalls: { total: 1 } })
    expect(ran.outcome.stoppedBy).toBeUndefined()
    expect(ran.results).toEqual(['same', 'same', 'same'])
  })
})

describe('what is no repetition', () => {
  it('is the same call with a result that changes: polling is progress', async () => {
    const progress = Array.from({ length: 12 }, (_, percent) => ({ percent }))
    const ran = await run([...times(12), 'ready'], [answering(progress)])
    expect(ran.outcome.stoppedBy).toBeUndefined()
    expect(ran.events.filter(({ type }) => type === 'limit.warned')).toEqual([])
  })

  it('is polling whose long result changes in one number, although almost all of it was seen', async () => {
    const report = (percent: number): string =>
      `${Array.from({ length: 200 }, (_, i) => `line ${i} of the report`).join('\n')}\nprogress: ${percent}`
    const ran = await run([...times(6), 'ready'], [answering([0, 1, 2, 3, 4, 5].map(report))])
    expect(ran.outcome.stoppedBy).toBeUndefined()
  })

  it('is a change that comes after a warning: the ladder begins anew', async () => {
    const ran = await run([...times(4), 'ready'], [answering(['waiting', 'waiting', 'running', 'running'])])
    expect(ran.outcome.stoppedBy).toBeUndefined()
    expect(ran.results.map((result) => result.includes('(Note:'))).toEqual([false, true, false, true])
  })

  it('is a call of a tool that says that it may be repeated', async () => {
    const ran = await run([...times(10), 'ready'], [answering(['still waiting'], { repeatable: true })])
    expect(ran.outcome.stoppedBy).toBeUndefined()
    expect(new Set(ran.results)).toEqual(new Set(['still waiting']))
  })

  it('is the same result of another call', async () => {
    const steps = Array.from({ length: 6 }, (_, n) => looking({ n }))
    expect((await run([...steps, 'ready'], [answering(['ok'])])).outcome.stoppedBy).toBeUndefined()
  })

  it('is anything where the limit is off', async () => {
    const off = { repeats: Number.POSITIVE_INFINITY, stagnation: Number.POSITIVE_INFINITY }
    const ran = await run([...times(12), 'ready'], [answering(['same'])], off)
    expect(ran.outcome.stoppedBy).toBeUndefined()
    expect(new Set(ran.results)).toEqual(new Set(['same']))
  })
})

describe('a ladder of one’s own', () => {
  it('warns later, and aborts instead of concluding', async () => {
    const limits = { steps: 30, repeats: { warn: 3, abort: 4 }, stagnation: Number.POSITIVE_INFINITY }
    const agent = createAgent({ model: scriptedModel(times(4)), tools: [answering(['same'])], limits })
    const outcome = await agent.run('go')
    expect(outcome).toMatchObject({
      status: 'aborted',
      reason: 'limit',
      stoppedBy: { limit: 'repeats', max: 4, reaction: 'abort' },
    })
    expect(results(outcome.transcript).map((result) => result.includes('(Note:'))).toEqual([
      false,
      false,
      true,
      true,
    ])
    expectSendable(outcome)
  })
})
