import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type AgentEvent, createAgent, defineTool, type Message, ModelError } from '../../../src/index.ts'
import { type ScriptedReply, type ScriptedStep, scriptedModel } from '../../../src/testing/index.ts'
import { expectAborted, expectDone, expectSendable } from '../../support/outcome.ts'
import { countingAdd, throwing } from '../../support/tools.ts'

/** Each asks for another sum, so that none repeats another. */
const addingTo = (a: number): ScriptedStep => ({ calls: [{ name: 'add', arguments: { a, b: 2 } }] })
const sums = (count: number): ScriptedStep[] => Array.from({ length: count }, (_, a) => addingTo(a))
const adding = addingTo(1)
const failing: ScriptedStep = { calls: [{ name: 'fail' }] }
const tools = () => [countingAdd(), throwing(new Error('no'))]

describe('the limit of steps', () => {
  it('concludes with an answer when it is reached, outside the step budget', async () => {
    const model = scriptedModel([addingTo(1), addingTo(2), 'What I know: 3.'])
    const outcome = expectDone(await createAgent({ model, tools: tools(), limits: { steps: 2 } }).run('go'))
    expect(outcome.output).toBe('What I know: 3.')
    expect(outcome.steps).toBe(2)
    expect(outcome.stoppedBy).toMatchObject({ limit: 'steps', max: 2, reaction: 'conclude' })
    model.assertFinished()
  })

  it('is 8 by default', async () => {
    const model = scriptedModel([...sums(8), 'enough'])
    const outcome = expectDone(await createAgent({ model, tools: tools() }).run('go'))
    expect(outcome).toMatchObject({ steps: 8, stoppedBy: { limit: 'steps', max: 8 } })
  })

  it('leaves an answer at the last step alone', async () => {
    const model = scriptedModel([adding, 'in time'])
    const outcome = expectDone(await createAgent({ model, tools: tools(), limits: { steps: 2 } }).run('go'))
    expect(outcome.stoppedBy).toBeUndefined()
  })

  it('can be set for a single run', async () => {
    const model = scriptedModel([adding, 'closing'])
    const agent = createAgent({ model, tools: tools() })
    const outcome = expectDone(await agent.run({ messages: 'go', limits: { steps: 1 } }))
    expect(outcome.stoppedBy).toMatchObject({ limit: 'steps', max: 1 })
  })

  it('shows the closing call no tools, and the results of the last step', async () => {
    const model = scriptedModel([adding, 'closing'])
    await createAgent({ model, tools: tools(), limits: { steps: 1 } }).run('go')
    const closing = model.requests[1]
    expect(closing?.tools).toEqual([])
    expect(closing?.toolChoice).toBe('none')
    expect(closing?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(closing?.messages.at(-1)?.content).toContain('Answer the last request now')
  })

  it('keeps the closing note out of the transcript', async () => {
    const model = scriptedModel([adding, 'closing'])
    const outcome = await createAgent({ model, tools: tools(), limits: { steps: 1 } }).run('go')
    expect(outcome.transcript.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expectSendable(outcome)
  })

  it('ignores calls that the model makes in its closing answer', async () => {
    const add = countingAdd()
    const model = scriptedModel([
      adding,
      { text: 'closing', calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] },
    ])
    const outcome = expectDone(await createAgent({ model, tools: [add], limits: { steps: 1 } }).run('go'))
    expect(outcome.output).toBe('closing')
    expect(add.runs).toHaveLength(1)
    expectSendable(outcome)
  })

  it('aborts where the closing call gives no answer', async () => {
    const model = scriptedModel([adding, { calls: [{ name: 'add' }] }])
    const outcome = expectAborted(
      await createAgent({ model, tools: tools(), limits: { steps: 1 } }).run('go'),
    )
    expect(outcome.reason).toBe('no_closing_answer')
    expect(outcome.stoppedBy?.limit).toBe('steps')
    expectSendable(outcome)
  })

  it('tries the closing call again after an error that may pass', async () => {
    const busy = new ModelError('overloaded', 'busy', { retryable: true, retryAfterMs: 0 })
    const model = scriptedModel([adding, busy, 'closing'])
    const outcome = expectDone(await createAgent({ model, tools: tools(), limits: { steps: 1 } }).run('go'))
    expect(outcome.output).toBe('closing')
  })

  it('tells which error kept the closing answer away', async () => {
    const model = scriptedModel([
      adding,
      new ModelError('bad_request', 'no such thing', { retryable: false }),
    ])
    const outcome = expectAborted(
      await createAgent({ model, tools: tools(), limits: { steps: 1 } }).run('go'),
    )
    expect(outcome).toMatchObject({ reason: 'no_closing_answer', error: { code: 'bad_request' } })
    expect(outcome.message).toBe('No closing answer after the limit "steps" was reached: no such thing')
  })

  it('also ends a run whose last permitted reply was empty', async () => {
    const model = scriptedModel([adding, { text: '' }, 'closing'])
    const outcome = expectDone(await createAgent({ model, tools: tools(), limits: { steps: 2 } }).run('go'))
    expect(outcome.stoppedBy?.limit).toBe('steps')
  })

  it('can be switched off', async () => {
    const model = scriptedModel([...sums(50), 'enough'])
    const limits = { steps: Number.POSITIVE_INFINITY }
    expect(expectDone(await createAgent({ model, tools: tools(), limits }).run('go')).steps).toBe(51)
  })
})

describe('the limit of errors in a row', () => {
  it('concludes after three failed calls, by default', async () => {
    const model = scriptedModel([failing, failing, failing, 'It does not work.'])
    const outcome = expectDone(await createAgent({ model, tools: tools() }).run('go'))
    expect(outcome.stoppedBy).toMatchObject({
      limit: 'errorStreak',
      max: 3,
      evidence: '3 tool calls in a row failed',
    })
    expect(outcome.toolCalls).toEqual({ total: 3, failed: 3 })
  })

  it('is reset by a success of the same tool', async () => {
    let runs = 0
    const shaky = defineTool({
      name: 'shaky',
      description: 'Fails two times of three.',
      input: z.object({ n: z.number() }),
      run: ({ n }) => {
        if (++runs % 3 !== 0) throw new Error('no')
        return `result ${n}`
      },
    })
    const calls = Array.from({ length: 7 }, (_, n) => ({ calls: [{ name: 'shaky', arguments: { n } }] }))
    const outcome = await createAgent({ model: scriptedModel([...calls, 'ok']), tools: [shaky] }).run('go')
    expect(expectDone(outcome).stoppedBy).toBeUndefined()
  })

  it('is not reset for a tool that keeps failing by the successes of others', async () => {
    const model = scriptedModel([failing, addingTo(1), failing, addingTo(2), failing, 'enough'])
    const outcome = expectDone(await createAgent({ model, tools: tools() }).run('go'))
    expect(outcome.stoppedBy).toMatchObject({
      limit: 'errorStreak',
      max: 3,
      evidence: 'fail failed 3 times with the error "failed" without a success',
    })
  })

  it('is reset by the success of any tool where it does not count per tool', async () => {
    const failingAt = (n: number): ScriptedReply => ({ calls: [{ name: 'fail', arguments: { n } }] })
    const apart = [1, 2, 3].flatMap((n): ScriptedStep[] => [failingAt(n), addingTo(n)])
    const steps: ScriptedStep[] = [...apart, failingAt(4), failingAt(5)]
    const inARow = { errorStreak: { abort: 2, perTool: false } }
    const outcome = expectAborted(
      await createAgent({ model: scriptedModel(steps), tools: tools(), limits: inARow }).run('go'),
    )
    expect(outcome).toMatchObject({
      steps: 8,
      reason: 'limit',
      stoppedBy: { limit: 'errorStreak', evidence: '2 tool calls in a row failed' },
    })
  })

  it('counts the errors of one tool apart, by what went wrong', async () => {
    const badly = (a: unknown): ScriptedStep => ({ calls: [{ name: 'add', arguments: { a } }] })
    const model = scriptedModel([badly('x'), { calls: [{ name: 'add', arguments: '{' }] }, badly('y'), 'ok'])
    const limits = { errorStreak: 3 }
    const other = defineTool({ name: 'other', description: 'Works.', input: z.object({}), run: () => 'fine' })
    const interleaved = scriptedModel([
      badly('x'),
      { calls: [{ name: 'other' }] },
      { calls: [{ name: 'add', arguments: '{' }] },
      { calls: [{ name: 'other' }] },
      badly('y'),
      'ok',
    ])
    const agentWith = (own: typeof model) =>
      createAgent({ model: own, tools: [countingAdd(), other], limits })
    expect(expectDone(await agentWith(model).run('go')).stoppedBy?.limit).toBe('errorStreak')
    expect(expectDone(await agentWith(interleaved).run('go')).stoppedBy).toBeUndefined()
  })

  it('counts over all tools, so that alternating failures do not slip through', async () => {
    const model = scriptedModel([failing, { calls: [{ name: 'nope' }] }, failing, 'enough'])
    const outcome = expectDone(await createAgent({ model, tools: tools() }).run('go'))
    expect(outcome.stoppedBy?.limit).toBe('errorStreak')
  })

  it('counts parallel calls that jump over it', async () => {
    const four = { calls: Array.from({ length: 4 }, (_, n) => ({ name: 'fail', arguments: { n } })) }
    const outcome = expectDone(
      await createAgent({ model: scriptedModel([four, 'enough']), tools: tools() }).run('go'),
    )
    expect(outcome.stoppedBy).toMatchObject({
      limit: 'errorStreak',
      evidence: '4 tool calls in a row failed',
    })
  })

  it('counts calls of one reply that ask for the same once', async () => {
    const three = { calls: Array.from({ length: 3 }, () => ({ name: 'fail' })) }
    const outcome = expectDone(
      await createAgent({ model: scriptedModel([three, 'fine']), tools: tools() }).run('go'),
    )
    expect(outcome.stoppedBy).toBeUndefined()
    expect(outcome.toolCalls).toEqual({ total: 1, failed: 1 })
  })

  it('leaves calls that were cut off to the limit of malformed replies, however many they were', async () => {
    const cutOff: ScriptedStep = {
      calls: Array.from({ length: 3 }, (_, a) => ({ name: 'add', arguments: { a, b: 2 } })),
      finish: 'length',
    }
    const model = scriptedModel([cutOff, adding, 'fine'])
    const outcome = expectDone(await createAgent({ model, tools: tools() }).run('go'))
    expect(outcome.stoppedBy).toBeUndefined()
    expect(outcome.output).toBe('fine')
  })

  it('warns still where the provider finds the conversation too long, and room is made', async () => {
    const tooLong = new ModelError('context_too_long', 'too long', { retryable: false })
    const model = scriptedModel([failing, tooLong, 'fine'])
    const events: AgentEvent[] = []
    const limits = { errorStreak: { warn: 1 }, steps: { warn: 2, conclude: 8 } }
    const agent = createAgent({ model, tools: tools(), limits })
    const earlier = Array.from({ length: 20 }, (): Message[] => [
      { role: 'user', content: 'And then?' },
      { role: 'assistant', content: 'word '.repeat(100) },
    ]).flat()
    const history: Message[] = [...earlier, { role: 'user', content: 'go' }]
    const outcome = await agent.run(history, { onEvent: (event) => events.push(event) })
    expect(expectDone(outcome).output).toBe('fine')
    const notes = model.requests.map(({ messages }) => messages.at(-1)?.content)
    expect(notes[1]).toContain('fail')
    // What was not heard goes once more, beside what is new; each is shown once.
    expect(notes[2]).toContain(notes[1])
    const warned = events.flatMap((event) => (event.type === 'limit.warned' ? [event.warning.limit] : []))
    expect(warned).toEqual(['errorStreak', 'steps'])
  })

  it('runs no tool after it has fired', async () => {
    const add = countingAdd()
    const model = scriptedModel([
      { calls: [{ name: 'nope' }] },
      { text: 'closing', calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] },
    ])
    await createAgent({ model, tools: [add], limits: { errorStreak: 1 } }).run('go')
    expect(add.runs).toEqual([])
  })
})
