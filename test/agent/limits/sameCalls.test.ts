import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type AgentEvent,
  createAgent,
  defineTool,
  type Limits,
  limitTexts,
  type Message,
  memoryJournal,
  type Tool,
} from '../../../src/index.ts'
import {
  checkAgent,
  type ScriptedReply,
  type ScriptedStep,
  scriptedModel,
} from '../../../src/testing/index.ts'
import { expectAborted, expectDone, expectSendable } from '../../support/outcome.ts'
import { throwing } from '../../support/tools.ts'

/** Brings something new each time, and counts how often it ran. */
function counter(options: { name?: string; repeatable?: boolean } = {}): Tool & { readonly runs: unknown[] } {
  const runs: unknown[] = []
  const tool = defineTool({
    name: 'look',
    description: 'Looks.',
    input: z.looseObject({}),
    ...options,
    run: (args) => `look ${runs.push(args)}`,
  })
  return { ...tool, runs }
}

const looking = (...args: unknown[]): ScriptedReply => ({
  calls: args.map((n) => ({ name: 'look', arguments: n })),
})
const results = (transcript: readonly Message[]): string[] =>
  transcript.flatMap((message) => (message.role === 'tool' ? [message.content] : []))

async function run(
  steps: readonly ScriptedStep[],
  sameCalls: Limits['sameCalls'],
  look: Tool & { readonly runs: unknown[] } = counter(),
) {
  const events: AgentEvent[] = []
  const model = scriptedModel(steps)
  const agent = createAgent({
    model,
    tools: [look, throwing(new Error('no'))],
    limits: { steps: 30, sameCalls },
  })
  const outcome = await agent.run('go', { onEvent: (event) => events.push(event) })
  expectSendable(outcome)
  return { outcome, events, model, runs: look.runs, results: results(outcome.transcript) }
}

const refusal = (times: number): string =>
  `Error (repeated): The same call was made before, and this one was not run.\nYou have asked look for the same ${times} times.\n` +
  'Make use of what you have, try something else (other arguments, or another tool), or answer.'

describe('the limit of same calls', () => {
  it('answers the second one with advice, whatever it would bring, and does not run it', async () => {
    const { outcome, events, runs, results, model } = await run(
      [looking({ a: 1, b: 2 }), looking('{ "b": 2, "a": 1 }'), 'enough'],
      2,
    )
    expect(runs).toHaveLength(1)
    expect(results).toEqual(['look 1', refusal(2)])
    expect(expectDone(outcome)).toMatchObject({ output: 'enough', toolCalls: { total: 1, failed: 0 } })
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'limit.warned',
        warning: expect.objectContaining({
          limit: 'sameCalls',
          max: 2,
          evidence: 'look was called 2 times with the same arguments',
        }),
      }),
    )
    expect(model.requests[2]?.messages.at(-1)?.role, 'no note beside the answer').toBe('tool')
  })

  it('finds one anywhere in the run, and each time again', async () => {
    const { runs, results } = await run(
      [looking(1), looking(2), looking(1), looking(1), 'enough'].map(numbered),
      2,
    )
    expect(runs).toHaveLength(2)
    expect(results.slice(2)).toEqual([refusal(2), refusal(3)])
  })

  it('lets as many run as it says', async () => {
    const { runs, results } = await run([...Array(4).fill(looking({})), 'enough'], { refuse: 3 })
    expect(runs).toHaveLength(2)
    expect(results.slice(2)).toEqual([refusal(3), refusal(4)])
  })

  it('is off by default: what a call brings decides, and polling is progress', async () => {
    const look = counter()
    const model = scriptedModel([...Array(5).fill(looking({})), 'enough'])
    expectDone(await createAgent({ model, tools: [look] }).run('go'))
    expect(look.runs).toHaveLength(5)
  })

  it('can warn below the result, before it refuses', async () => {
    const { results } = await run([...Array(3).fill(looking({})), 'enough'], { warn: 2, refuse: 3 })
    expect(results[1]).toBe(`look 2\n\n${limitTexts.en.warnings.sameCalls({ tool: 'look', count: 2 })}`)
    expect(results[2]).toBe(refusal(3))
  })

  it('ends the run where it is told to, without running the call', async () => {
    const { outcome, runs } = await run([looking({}), looking({})], { abort: 2 })
    expect(runs).toHaveLength(1)
    expect(expectAborted(outcome)).toMatchObject({
      reason: 'limit',
      message: 'look was called 2 times with the same arguments',
      stoppedBy: { limit: 'sameCalls', max: 2 },
    })
    const concluded = await run([looking({}), looking({}), 'closing'], { conclude: 2 })
    expect(expectDone(concluded.outcome).stoppedBy).toMatchObject({
      limit: 'sameCalls',
      reaction: 'conclude',
    })
    expect(concluded.runs).toHaveLength(1)
  })

  it('can count only calls one right after the other', async () => {
    const inARow = { abort: 2, inARow: true }
    const between = await run([looking(1), looking(2), looking(1, 2), 'enough'].map(numbered), inARow)
    expect(expectDone(between.outcome).output).toBe('enough')
    const after = await run([looking(1), looking(2), looking(2)].map(numbered), inARow)
    expect(expectAborted(after.outcome).stoppedBy?.limit).toBe('sameCalls')
    const within = await run([looking(1), looking(2, 1), looking(1)].map(numbered), inARow)
    expect(expectAborted(within.outcome).stoppedBy?.limit).toBe('sameCalls')
    expect(within.runs).toHaveLength(3)
  })

  it('runs nothing else of the reply with which it ends the run, and asks nobody about it', async () => {
    const pay = { ...counter({ name: 'pay' }), needsApproval: true }
    const look = counter()
    const model = scriptedModel([
      looking({ n: 1 }),
      { calls: [{ name: 'pay' }, { name: 'look', arguments: { n: 1 } }, { name: 'pay' }] },
    ])
    const limits = { sameCalls: { abort: 2 } }
    const outcome = await createAgent({ model, tools: [look, pay], limits }).run('go')
    expect(expectAborted(outcome).stoppedBy?.limit).toBe('sameCalls')
    expect([look.runs, pay.runs]).toEqual([[{ n: 1 }], []])
    expect(outcome.toolCalls.total).toBe(1)
    expect(results(outcome.transcript)[1]).toContain('Error (limit_reached): The run has reached a limit')
    expectSendable(outcome)
  })

  it('counts no call of a tool that there is not: it is told each time which ones there are', async () => {
    const missing: ScriptedStep = { calls: [{ name: 'nope', arguments: { n: 1 } }] }
    const { results: told } = await run([missing, missing, 'fine'], 2)
    for (const text of told) expect(text).toContain('Error (unknown_tool)')
  })

  it('counts what the model asked for, whatever a person made of it', async () => {
    const look = { ...counter(), needsApproval: true }
    const model = scriptedModel([looking({ n: 1 }), looking({ n: 1 }), 'fine'])
    const agent = createAgent({ model, tools: [look], journal: memoryJournal(), limits: { sameCalls: 2 } })
    const waiting = await agent.run('go', { runId: 'r' })
    const [pending] = waiting.status === 'waiting' ? waiting.approvals : []
    const decision = { callId: pending?.callId ?? '', approved: true, arguments: { n: 2 } }
    const outcome = expectDone(await agent.resume('r', { decisions: [decision] }))
    expect(look.runs).toEqual([{ n: 2 }])
    expect(results(outcome.transcript)[1]).toBe(refusal(2))
  })

  it('in a row is broken by any other call, counted or not', async () => {
    const wait = counter({ name: 'wait', repeatable: true })
    const steps = [looking({ n: 1 }), { calls: [{ name: 'wait' }] }, looking({ n: 1 }), 'fine']
    const agent = createAgent({
      model: scriptedModel(steps),
      tools: [counter(), wait],
      limits: { sameCalls: { abort: 2, inARow: true } },
    })
    expectDone(await agent.run('go'))
  })

  it('runs calls of one reply that ask for the same once, and counts them once', async () => {
    const { runs, results } = await run([looking({}, {}), looking({}, {}), 'enough'], 2)
    expect(runs).toHaveLength(1)
    expect(results).toEqual(['look 1', 'look 1', refusal(2), refusal(2)])
  })

  it('counts calls that failed, and leaves tools that are repeatable alone', async () => {
    const failing: ScriptedStep = { calls: [{ name: 'fail' }] }
    const failed = await run([failing, failing, 'enough'], 2)
    expect(failed.results[1]).toMatch(/^Error \(repeated\)/)
    expect(failed.outcome.toolCalls).toEqual({ total: 1, failed: 1 })
    const polled = await run([...Array(3).fill(looking({})), 'enough'], 2, counter({ repeatable: true }))
    expect(polled.runs).toHaveLength(3)
  })

  it('is no error in a row, and uses up no tool call', async () => {
    const model = scriptedModel([...Array(5).fill(looking({ n: 1 })), looking({ n: 2 }), 'enough'])
    const look = counter()
    const limits = { sameCalls: 2, errorStreak: 2, toolCalls: { conclude: 3 } }
    const outcome = expectDone(await createAgent({ model, tools: [look], limits }).run('go'))
    expect(outcome).toMatchObject({ output: 'enough', toolCalls: { total: 2, failed: 0 } })
  })

  it('speaks as the texts of the agent do', async () => {
    const model = scriptedModel([looking({}), looking({}), '好'])
    const outcome = await createAgent({
      model,
      tools: [counter()],
      limits: { sameCalls: 2 },
      texts: limitTexts.zh,
    }).run('go')
    expect(results(outcome.transcript)[1]).toContain('你已经以相同参数调用 look 2 次')
  })

  it('holds over a resumed run', async () => {
    const journal = memoryJournal()
    const look = counter()
    const options = { tools: [look], journal, limits: { sameCalls: 2 } }
    const hanging = createAgent({ ...options, model: scriptedModel([looking({})]) })
    await hanging.run('go', {
      runId: 'r',
      onEvent: ({ type }) => type === 'tool.finished' && void hanging.close(),
    })
    const model = scriptedModel([looking({}), 'enough'])
    const outcome = expectDone(await createAgent({ ...options, model }).resume('r'))
    expect(outcome.output).toBe('enough')
    expect(look.runs).toHaveLength(1)
  })

  it('keeps the promises of the loop on every path', { timeout: 60_000 }, async () => {
    const agent = createAgent({
      model: scriptedModel([]),
      tools: [counter()],
      limits: { steps: 4, sameCalls: 2 },
    })
    const report = await checkAgent(agent, { samples: { look: [{ n: 1 }] }, maxPaths: 200 })
    expect(report.paths).toBeGreaterThan(50)
  })
})

/** Bare numbers as arguments that a schema takes. */
function numbered(step: ScriptedStep): ScriptedStep {
  if (typeof step !== 'object' || !('calls' in step)) return step
  return { ...step, calls: (step.calls ?? []).map((call) => ({ ...call, arguments: { n: call.arguments } })) }
}
