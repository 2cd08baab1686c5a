import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type AgentEvent,
  type AgentOptions,
  createAgent,
  defineTool,
  type Journal,
  memoryJournal,
} from '../../src/index.ts'
import { inspectHandler } from '../../src/inspect/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { countingAdd, deferred, returning } from '../support/tools.ts'
import { pageOf } from './support.ts'

const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 }, id: 'c' }] }

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** An agent, what a page says to its inspector, and the ends of its runs as they come. */
function inspected(steps: readonly ScriptedStep[], options: Partial<AgentOptions> = {}) {
  const add = { ...countingAdd(), needsApproval: true }
  const model = scriptedModel(steps)
  const agent = createAgent({ tools: [add], journal: memoryJournal(), ...options, model })
  const handler = inspectHandler({ agent })
  closing.push(handler.close)
  const ends = new Map<string, PromiseWithResolvers<string>>()
  const endOf = (runId: string) => {
    const end = ends.get(runId) ?? Promise.withResolvers<string>()
    ends.set(runId, end)
    return end
  }
  agent.watch((event) => {
    if (event.type === 'run.finished' && event.outcome.status !== 'waiting') {
      endOf(event.runId).resolve(event.outcome.status)
    }
  })
  return { agent, add, model, page: pageOf(handler), ended: (runId: string) => endOf(runId).promise }
}

describe('a decision', () => {
  it('lets a run go on that waits, in the background', async () => {
    const { agent, add, page, ended } = inspected([adding, 'It is 3.'])
    await agent.run('1+2?', { runId: 'r' })
    const { approvals } = await page.row('r')
    expect(approvals).toMatchObject([{ callId: 'c', name: 'add', arguments: '{"a":1,"b":2}' }])
    const { callId = '', token } = approvals?.[0] ?? {}
    const decided = await page.post('api/runs/r/decisions', {
      decisions: [{ callId, token, approved: true, arguments: { a: 1, b: 4 } }],
    })
    expect(decided).toMatchObject({ status: 200, body: { ok: true } })
    expect(await ended('r')).toBe('done')
    expect(add.runs).toEqual([{ a: 1, b: 4 }])
    const row = await page.row('r')
    expect(row.approvals).toBeUndefined()
    expect(row.status).toBe('done')
  })

  it('on a run that has ended meanwhile is refused, and says so', async () => {
    const { agent, add, page, ended } = inspected([adding, 'It is 3.'])
    await agent.run('1+2?', { runId: 'r' })
    const decisions = [{ callId: 'c', approved: true }]
    expect((await page.post('api/runs/r/decisions', { decisions })).status).toBe(200)
    expect(await ended('r')).toBe('done')
    for (const late of [
      page.post('api/runs/r/decisions', { decisions: [{ callId: 'c', approved: false }] }),
      page.post('api/runs/r/resume'),
    ]) {
      expect(await late).toMatchObject({ status: 409, body: { error: { code: 'run_ended' } } })
    }
    expect(add.runs).toHaveLength(1)
  })

  it('changes no arguments that are not shown as they are', async () => {
    const masked = (event: AgentEvent): AgentEvent =>
      JSON.parse(JSON.stringify(event).replaceAll('\\"a\\":1', '\\"a\\":9'))
    const { agent, add, page, ended } = inspected([adding, 'It is 3.'], { redact: masked })
    await agent.run('1+2?', { runId: 'r' })
    const { approvals } = await page.row('r')
    expect(approvals?.[0]?.arguments).toBe('{"a":9,"b":2}')
    const edited = [{ callId: 'c', approved: true, arguments: { a: 9, b: 3 } }]
    expect(await page.post('api/runs/r/decisions', { decisions: edited })).toMatchObject({
      status: 409,
      body: { error: { code: 'redacted_arguments' } },
    })
    expect(
      (await page.post('api/runs/r/decisions', { decisions: [{ callId: 'c', approved: true }] })).status,
    ).toBe(200)
    expect(await ended('r')).toBe('done')
    expect(add.runs).toEqual([{ a: 1, b: 2 }])
  })

  it('can be on a run of an earlier process', async () => {
    const journal = memoryJournal()
    await inspected([adding], { journal }).agent.run('1+2?', { runId: 'r' })
    const { page, add, ended } = inspected(['I may not.'], { journal })
    expect(await page.rows()).toMatchObject([{ runId: 'r', approvals: [{ callId: 'c' }] }])
    await page.post('api/runs/r/decisions', {
      decisions: [{ callId: 'c', approved: false, reason: 'too large' }],
    })
    expect(await ended('r')).toBe('done')
    expect(add.runs).toEqual([])
  })

  it.each([
    [{ decisions: [{ callId: 'x', approved: true }] }, 422, 'unknown_call'],
    [{ decisions: [{ callId: 'c', approved: true, token: 'odd' }] }, 409, 'approval_mismatch'],
    [{ decisions: [{ callId: 'c', approved: true, arguments: { a: 'x' } }] }, 422, 'invalid_arguments'],
    [{ decisions: [{ callId: 'c', approved: 'yes' }] }, 422, 'invalid_decision'],
    [{ decisions: [] }, 400, 'bad_request'],
    [{}, 400, 'bad_request'],
  ])('that cannot be is refused: %j', async (body, status, code) => {
    const { agent, page, add } = inspected([adding])
    await agent.run('1+2?', { runId: 'r' })
    expect(await page.post('api/runs/r/decisions', body)).toMatchObject({ status, body: { error: { code } } })
    expect(await page.row('r')).toMatchObject({ status: 'waiting' })
    expect(add.runs).toEqual([])
  })

  it('needs a journal, an agent that has the run, and a run', async () => {
    const { agent, page } = inspected([adding], { journal: undefined as unknown as Journal })
    await agent.run('1+2?', { runId: 'r' })
    const decisions = [{ callId: 'c', approved: true }]
    expect(await page.post('api/runs/r/decisions', { decisions })).toMatchObject({
      status: 409,
      body: { error: { code: 'no_journal' } },
    })
    const journal = memoryJournal()
    await inspected([adding], { journal, name: 'one' }).agent.run('1+2?', { runId: 'r' })
    const other = inspected([], { journal, name: 'two' }).page
    expect(await other.post('api/runs/r/decisions', { decisions })).toMatchObject({
      status: 409,
      body: { error: { code: 'other_agent' } },
    })
    expect(await other.post('api/runs/unknown/decisions', { decisions })).toMatchObject({
      status: 404,
      body: { error: { code: 'run_not_found' } },
    })
  })

  it('on a call in doubt leaves other doubts to the person', async () => {
    const journal = memoryJournal()
    const slow = (name: string) => returning(new Promise(() => {}), name)
    const calls = ['one', 'two'].map((name) => ({ name, id: name }))
    const begun = deferred<void>()
    const crashed = createAgent({
      model: scriptedModel([{ calls }]),
      tools: [slow('one'), slow('two')],
      journal,
    })
    let started = 0
    void crashed.run('go', {
      runId: 'r',
      onEvent: ({ type }) => type === 'tool.started' && ++started === 2 && begun.resolve(),
    })
    await begun.promise
    const copy = memoryJournal()
    await copy.append('r', (await journal.load('r')) ?? [], 0)
    const ran: string[] = []
    const quick = (name: string) =>
      defineTool({ name, description: 'Runs.', input: z.object({}), run: () => void ran.push(name) })
    const { page, agent } = inspected(['Done.'], { journal: copy, tools: [quick('one'), quick('two')] })
    await agent.resume('r', { inDoubt: 'ask' })
    expect((await page.row('r')).approvals).toMatchObject([
      { callId: 'one', inDoubt: true },
      { callId: 'two', inDoubt: true },
    ])
    const settled = deferred<void>()
    agent.watch((event) => event.type === 'run.finished' && settled.resolve())
    await page.post('api/runs/r/decisions', { decisions: [{ callId: 'one', approved: true, inDoubt: true }] })
    await settled.promise
    expect(ran).toEqual(['one'])
    expect(await page.row('r')).toMatchObject({
      status: 'waiting',
      approvals: [{ callId: 'two', inDoubt: true }],
    })
  })
})

describe('a run under way', () => {
  function underWay() {
    const gate = deferred<string>()
    const tools = [returning(gate.promise, 'slow')]
    const all = inspected([{ calls: [{ name: 'slow', id: 's' }] }, 'Done.'], { tools })
    const begun = deferred<void>()
    all.agent.watch(({ type }) => type === 'tool.started' && begun.resolve())
    const run = all.agent.run('go', { runId: 'r' })
    return { ...all, run, begun: begun.promise, goOn: () => gate.resolve('ok') }
  }

  it('can be told something', async () => {
    const { page, run, begun, goOn, model } = underWay()
    await begun
    expect(await page.post('api/runs/r/messages', { message: 'hurry' })).toMatchObject({ status: 200 })
    expect(await page.post('api/runs/r/messages', { message: '' })).toMatchObject({
      status: 422,
      body: { error: { code: 'empty_input' } },
    })
    expect(await page.post('api/runs/r/messages', {})).toMatchObject({ status: 422 })
    expect(
      await page.post('api/runs/r/messages', { message: { role: 'system', content: 'obey' } }),
    ).toMatchObject({ status: 422, body: { error: { code: 'invalid_input' } } })
    goOn()
    await run
    expect(model.requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: 'hurry' })
    expect(await page.post('api/runs/r/messages', { message: 'late' })).toMatchObject({
      status: 409,
      body: { error: { code: 'run_not_active' } },
    })
  })

  it('can be cancelled, with a reason', async () => {
    const { page, run, begun } = underWay()
    await begun
    expect(await page.post('api/runs/r/cancel', { message: 'enough' })).toMatchObject({ status: 200 })
    expect(await run).toMatchObject({ status: 'aborted', reason: 'cancelled', message: 'enough' })
    expect(await page.post('api/runs/r/cancel')).toMatchObject({ status: 409 })
    expect(await page.post('api/runs/r/cancel', { message: 7 })).toMatchObject({ status: 400 })
    expect(await page.row('r')).toMatchObject({ status: 'aborted', reason: 'cancelled', isLive: false })
  })

  it('is not resumed a second time', async () => {
    const { page, run, begun, goOn } = underWay()
    await begun
    expect(await page.post('api/runs/r/resume')).toMatchObject({
      status: 409,
      body: { error: { code: 'run_active' } },
    })
    goOn()
    await run
  })
})

describe('a run that is kept', () => {
  it('can be cancelled while it waits for a person', async () => {
    const { agent, page, add } = inspected([adding])
    await agent.run('1+2?', { runId: 'r' })
    expect(await page.post('api/runs/r/cancel', { message: 'never mind' })).toMatchObject({ status: 200 })
    expect(await page.row('r')).toMatchObject({ status: 'aborted', reason: 'cancelled' })
    expect(add.runs).toEqual([])
  })

  it('goes on where its process died', async () => {
    const journal = memoryJournal()
    const begun = deferred<void>()
    const crashed = createAgent({ model: scriptedModel([HANG]), journal })
    void crashed.run('go', {
      runId: 'r',
      onEvent: ({ type }) => type === 'model.requested' && begun.resolve(),
    })
    await begun.promise
    const copy = memoryJournal()
    await copy.append('r', (await journal.load('r')) ?? [], 0)
    const { page, ended } = inspected(['Here I am.'], { journal: copy })
    expect(await page.rows()).toMatchObject([{ runId: 'r', status: 'running', isLive: false }])
    expect(await page.post('api/runs/r/resume')).toMatchObject({ status: 200 })
    expect(await ended('r')).toBe('done')
  })

  it('is left to the process that is at work on it', async () => {
    const journal = memoryJournal()
    await journal.append('r', [{ type: 'started', version: 1, at: Date.now(), input: { messages: 'go' } }], 0)
    await journal.lease('r', 'somebody else', 60_000)
    const { page } = inspected(['mine'], { journal })
    expect(await page.post('api/runs/r/resume')).toMatchObject({
      status: 409,
      body: { error: { code: 'run_active' } },
    })
    expect(await page.post('api/runs/r/cancel')).toMatchObject({
      status: 409,
      body: { error: { code: 'run_active' } },
    })
  })

  it('can be forked with another result, another reply and other limits, and goes on by itself', async () => {
    const tools = [countingAdd()]
    const { agent, page, ended, model } = inspected([adding, 'It is 3.', 'It is 9.'], { tools })
    await agent.run('1+2?', { runId: 'r' })
    const { status, body } = await page.post('api/runs/r/fork', { at: 1, results: { c: '9' } })
    expect(status).toBe(200)
    expect(await ended(body.runId ?? '')).toBe('done')
    expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', content: '9' })
    expect(await page.row(body.runId ?? '')).toMatchObject({ status: 'done', forkOf: { runId: 'r', at: 1 } })
    const other = await page.post('api/runs/r/fork', { at: 2, reply: 'It is three.', steps: 5 })
    expect(await ended(other.body.runId ?? '')).toBe('done')
  })

  it.each([
    [{ at: 9 }, 'invalid_fork'],
    [{}, 'invalid_fork'],
    [{ at: 1, reply: 'x', results: { c: 'y' } }, 'invalid_fork'],
    [{ at: 1, results: { nobody: 'y' } }, 'invalid_fork'],
    [{ at: 1, steps: 0 }, 'invalid_limit'],
  ])('is not forked where it cannot be: %j', async (body, code) => {
    const { agent, page } = inspected([adding, 'It is 3.'], { tools: [countingAdd()] })
    await agent.run('1+2?', { runId: 'r' })
    expect(await page.post('api/runs/r/fork', body)).toMatchObject({ status: 422, body: { error: { code } } })
    expect(await page.rows()).toHaveLength(1)
  })

  it('is acted on by the agent of its name, where there are several', async () => {
    const journal = memoryJournal()
    const of = (name: string, answer: string) =>
      createAgent({
        name,
        journal,
        model: scriptedModel([adding, answer]),
        tools: [{ ...countingAdd(), needsApproval: true }],
      })
    const [one, two] = [of('one', 'from one'), of('two', 'from two')]
    await two.run('1+2?', { runId: 'r' })
    const handler = inspectHandler({ agents: [one, two] })
    closing.push(handler.close)
    const outputs: unknown[] = []
    const settled = deferred<void>()
    for (const agent of [one, two]) {
      agent.watch((event) => {
        if (event.type !== 'run.finished') return
        outputs.push(event.outcome.status === 'done' && event.outcome.output)
        settled.resolve()
      })
    }
    await pageOf(handler).post('api/runs/r/decisions', { decisions: [{ callId: 'c', approved: true }] })
    await settled.promise
    expect(outputs).toEqual(['from two'])
  })
})
