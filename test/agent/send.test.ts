import { describe, expect, it } from 'vitest'
import { createActor, toPromise } from 'xstate'
import { type AgentEvent, createAgent, memoryJournal, type Run } from '../../src/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { journalThat } from '../support/journals.ts'
import { expectAborted, expectDone, expectSendable, rejectionOf } from '../support/outcome.ts'
import { countingAdd, deferred, returning } from '../support/tools.ts'

const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }

/** Sends a message on the first event that fits, before the effect that it tells of can settle. */
async function sendOn(fits: (event: AgentEvent) => boolean, run: Run, message = 'and quickly') {
  let sent: Promise<void> | undefined
  for await (const event of run) if (sent === undefined && fits(event)) sent = run.send(message)
  return sent
}

/** A model that waits with each answer until a message has reached the run. */
function patient(script: readonly ScriptedStep[]) {
  const received = deferred<void>()
  const model = scriptedModel(
    script.map((step, i) => async () => {
      if (i === 0) await received.promise
      return step
    }),
  )
  return {
    model,
    onEvent: ({ type }: AgentEvent) => void (type === 'message.received' && received.resolve()),
  }
}

const modelStarted = ({ type }: AgentEvent): boolean => type === 'model.started'
const rolesAndTexts = (transcript: readonly { role: string; content?: unknown }[]) =>
  transcript.map(({ role, content }) => [role, content])

describe('a message for a run under way', () => {
  it('is read with the next step, below the results of the present one', async () => {
    const { model, onEvent } = patient([adding, 'It is 3.'])
    const run = createAgent({ model, tools: [countingAdd()] }).stream('1+2?', { onEvent })
    await sendOn(modelStarted, run)
    const outcome = expectDone(await run.outcome)
    expect(rolesAndTexts(model.requests[1]?.messages ?? [])).toEqual([
      ['user', '1+2?'],
      ['assistant', null],
      ['tool', '3'],
      ['user', 'and quickly'],
    ])
    expectSendable(outcome)
  })

  it('can come while tools run, and several keep their order', async () => {
    const gate = deferred<string>()
    const model = scriptedModel([{ calls: [{ name: 'slow' }] }, 'ok'])
    const run = createAgent({ model, tools: [returning(gate.promise, 'slow')] }).stream('go')
    for await (const event of run) {
      if (event.type !== 'tool.started') continue
      await Promise.all([
        run.send('one'),
        run.send({ role: 'user', content: [{ type: 'text', text: 'two' }] }),
      ])
      gate.resolve('result')
    }
    expect(rolesAndTexts(model.requests[1]?.messages ?? []).slice(2)).toEqual([
      ['tool', 'result'],
      ['user', 'one'],
      ['user', [{ type: 'text', text: 'two' }]],
    ])
  })

  it('makes a run go on that would have ended with an answer', async () => {
    const { model, onEvent } = patient(['First answer.', 'Second answer.'])
    const run = createAgent({ model }).stream('go', { onEvent })
    await sendOn(modelStarted, run, 'and then?')
    const outcome = expectDone(await run.outcome)
    expect(outcome).toMatchObject({ output: 'Second answer.', steps: 2 })
    expect(rolesAndTexts(outcome.transcript)).toEqual([
      ['user', 'go'],
      ['assistant', 'First answer.'],
      ['user', 'and then?'],
      ['assistant', 'Second answer.'],
    ])
  })

  it('does so within the limits only: the closing answer reads it, too', async () => {
    const { model, onEvent } = patient(['First answer.', 'Second answer.'])
    const run = createAgent({ model, limits: { steps: 1 } }).stream('go', { onEvent })
    await sendOn(modelStarted, run, 'and then?')
    const outcome = expectDone(await run.outcome)
    expect(outcome).toMatchObject({ output: 'Second answer.', steps: 1, stoppedBy: { limit: 'steps' } })
    expect(rolesAndTexts(model.requests[1]?.messages ?? [])[2]).toEqual(['user', 'and then?'])
  })

  it('that comes while the closing answer is written stays at the end, unanswered', async () => {
    const received = deferred<void>()
    const closing: ScriptedStep = async () => {
      await received.promise
      return 'closing'
    }
    const model = scriptedModel([adding, closing])
    const run = createAgent({ model, tools: [countingAdd()], limits: { steps: 1 } }).stream('go', {
      onEvent: ({ type }) => void (type === 'message.received' && received.resolve()),
    })
    await sendOn((event) => event.type === 'model.started' && event.closing, run, 'and then?')
    const outcome = expectDone(await run.outcome)
    expect(outcome.output).toBe('closing')
    expect(rolesAndTexts(outcome.transcript).slice(-2)).toEqual([
      ['assistant', 'closing'],
      ['user', 'and then?'],
    ])
    expectSendable(outcome)
  })

  it('is not lost where the run is aborted', async () => {
    const run = createAgent({ model: scriptedModel([HANG]) }).stream('go')
    for await (const event of run) {
      if (event.type === 'model.started') void run.send('wait')
      if (event.type === 'message.received') run.abort()
    }
    const outcome = expectAborted(await run.outcome)
    expect(rolesAndTexts(outcome.transcript)).toEqual([
      ['user', 'go'],
      ['user', 'wait'],
    ])
    expectSendable(outcome)
  })

  it('is shown below the calls that wait, where the run is handed back to wait for a person', async () => {
    const { model, onEvent } = patient([adding])
    const add = { ...countingAdd(), needsApproval: true }
    const run = createAgent({ model, tools: [add], journal: memoryJournal() }).stream('1+2?', { onEvent })
    await sendOn(modelStarted, run)
    const { status, transcript } = await run.outcome
    expect(status).toBe('waiting')
    expect(transcript.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(transcript.at(-1)?.content).toBe('and quickly')
  })

  it('is taken before the run has begun, too', async () => {
    const journal = journalThat({ append: async () => true })
    const { model, onEvent } = patient(['First.', 'Second.'])
    const run = createAgent({ model, journal }).stream('go', { onEvent })
    await run.send('at once')
    expect(expectDone(await run.outcome).output).toBe('Second.')
  })

  it('is in the journal, and a replay comes to the same', async () => {
    const journal = memoryJournal()
    const { model, onEvent } = patient([adding, 'It is 3.'])
    const run = createAgent({ model, tools: [countingAdd()], journal }).stream('go', { runId: 'r', onEvent })
    await sendOn(modelStarted, run)
    const { durationMs: _ms, ...outcome } = await run.outcome
    const agent = createAgent({ model: scriptedModel([]), tools: [countingAdd()], journal })
    const { durationMs: _again, ...replayed } = await agent.resume('r')
    expect(replayed).toEqual(outcome)
    expect((await journal.load('r'))?.[1]).toMatchObject({
      event: { type: 'sent', message: { role: 'user', content: 'and quickly' } },
    })
  })

  it('reaches a live machine as SEND', async () => {
    const received = deferred<void>()
    const model = scriptedModel([
      async () => {
        await received.promise
        return 'First.'
      },
      'Second.',
    ])
    const actor = createActor(createAgent({ model }).machine, { input: 'go' }).start()
    actor.send({ type: 'SEND', message: { role: 'user', content: 'more' } })
    received.resolve()
    expect(await toPromise(actor)).toMatchObject({ status: 'done', output: 'Second.', steps: 2 })
  })
})

describe('a message is refused', () => {
  it('once the run has ended', async () => {
    const run = createAgent({ model: scriptedModel(['ok']) }).stream('go')
    await run.outcome
    expect(await rejectionOf(run.send('late'))).toMatchObject({ name: 'LoopchartError', code: 'run_ended' })
  })

  it('once the run waits for a person', async () => {
    const tools = [{ ...countingAdd(), needsApproval: true }]
    const run = createAgent({ model: scriptedModel([adding]), tools }).stream('go')
    expect((await run.outcome).status).toBe('waiting')
    expect(await rejectionOf(run.send('late'))).toMatchObject({ code: 'run_ended' })
  })

  it('where the run ends before it is taken', async () => {
    // The journal keeps the answer for a while, and the message comes meanwhile.
    const kept = deferred<void>()
    const asked = deferred<void>()
    let sent: Promise<void> | undefined
    const journal = journalThat({
      async append(_id, [entry]) {
        if (entry?.type !== 'event' || sent !== undefined) return true
        sent = run.send('too late')
        asked.resolve()
        await kept.promise
        return true
      },
    })
    const run: Run = createAgent({ model: scriptedModel(['answer']), journal }).stream('go')
    await asked.promise
    kept.resolve()
    expect(expectDone(await run.outcome).output).toBe('answer')
    expect(await rejectionOf(sent as Promise<void>)).toMatchObject({ code: 'run_ended' })
  })

  it('where the run could not begin', async () => {
    const journal = memoryJournal()
    const agent = createAgent({ model: scriptedModel(['ok']), journal })
    await agent.run('go', { runId: 'r' })
    const run = agent.stream('go', { runId: 'r' })
    const sent = run.send('hello')
    await rejectionOf(run.outcome)
    expect(await rejectionOf(sent)).toMatchObject({ code: 'run_ended' })
  })

  it.each([
    ['an empty text', '', 'empty_input'],
    ['a message without text', { role: 'user', content: '' }, 'empty_input'],
    ['a message of the model', { role: 'assistant', content: 'hi' }, 'invalid_input'],
    ['nothing', undefined, 'invalid_input'],
    ['a message whose content is no text', { role: 'user', content: 5 }, 'invalid_input'],
    ['what is not JSON', { role: 'user', content: 1n }, 'invalid_input'],
  ])('at once where it is %s', async (_what, message, code) => {
    const run = createAgent({ model: scriptedModel(['ok']) }).stream('go')
    expect(() => run.send(message as never)).toThrow(expect.objectContaining({ name: 'MisuseError', code }))
    await run.outcome
  })

  it('without an unhandled rejection where nobody awaits it', async () => {
    const run = createAgent({ model: scriptedModel([]) }).stream('go', { signal: AbortSignal.abort() })
    run.send('never read')
    expect(expectAborted(await run.outcome).reason).toBe('cancelled')
  })
})
