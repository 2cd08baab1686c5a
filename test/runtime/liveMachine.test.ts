import { describe, expect, it } from 'vitest'
import { assign, createActor, setup, toPromise, waitFor } from 'xstate'
import { createAgent, type Memory, memoryJournal, type Outcome } from '../../src/index.ts'
import { HANG, scriptedModel } from '../../src/testing/index.ts'
import { expectDone } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'

const adding = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
const agentWith = (model = scriptedModel([adding, 'It is 3.'])) =>
  createAgent({ model, tools: [countingAdd()] })

describe("the agent's machine", () => {
  it('runs live under createActor, to the same ending as agent.run', async () => {
    const actor = createActor(agentWith().machine, { input: '1+2?' }).start()
    const { runId: _id, durationMs: _ms, ...outcome } = await agentWith().run('1+2?')
    expect(await toPromise(actor)).toEqual(outcome)
  })

  it('takes limits for one run with its input', async () => {
    const actor = createActor(agentWith(scriptedModel([adding, 'closing'])).machine, {
      input: { messages: '1+2?', limits: { steps: 1 } },
    }).start()
    expect(await toPromise(actor)).toMatchObject({ status: 'done', stoppedBy: { limit: 'steps', max: 1 } })
  })

  it('can be watched by its states', async () => {
    const actor = createActor(agentWith(scriptedModel([HANG])).machine, { input: 'go' }).start()
    expect(actor.getSnapshot().matches({ thinking: 'calling' })).toBe(true)
    actor.send({ type: 'CANCEL' })
    const snapshot = await waitFor(actor, ({ status }) => status === 'done')
    expect(snapshot.value).toBe('aborted')
    expect(snapshot.output).toMatchObject({ status: 'aborted', reason: 'cancelled' })
  })

  it("can be invoked inside a user's own machine", async () => {
    const review = setup({
      types: { context: {} as { answer: string | undefined } },
      actors: { agent: agentWith().machine },
    }).createMachine({
      context: { answer: undefined },
      initial: 'asking',
      states: {
        asking: {
          invoke: {
            src: 'agent',
            input: '1+2?',
            onDone: {
              target: 'answered',
              actions: assign({
                answer: ({ event }) => (event.output.status === 'done' ? event.output.output : undefined),
              }),
            },
          },
        },
        answered: { type: 'final' },
      },
    })
    const actor = createActor(review).start()
    const snapshot = await waitFor(actor, ({ status }) => status === 'done')
    expect(snapshot.context.answer).toBe('It is 3.')
  })

  it('leaves no finished tool actor in its snapshot', async () => {
    const model = scriptedModel([adding, adding, HANG])
    const actor = createActor(agentWith(model).machine, { input: 'go' }).start()
    const snapshot = await waitFor(actor, ({ context }) => context.step === 3)
    expect(Object.keys(snapshot.children)).toEqual(['model'])
  })
})

describe('approval', () => {
  const guarded = () => {
    const add = countingAdd()
    return { add, tools: [{ ...add, needsApproval: (args: unknown) => (args as { a: number }).a > 10 }] }
  }
  const big = { name: 'add', arguments: { a: 11, b: 2 }, id: 'big' }
  const small = { name: 'add', arguments: { a: 1, b: 2 }, id: 'small' }

  async function waiting() {
    const journal = memoryJournal()
    const { add, tools } = guarded()
    const model = scriptedModel([{ calls: [big, small] }])
    const outcome = await createAgent({ model, tools, journal }).run('go', { runId: 'r' })
    expect(add.runs).toEqual([])
    return { journal, outcome }
  }

  async function decide(
    journal: ReturnType<typeof memoryJournal>,
    approved: boolean,
  ): Promise<[Outcome, unknown[]]> {
    const { add, tools } = guarded()
    const agent = createAgent({ model: scriptedModel(['ok']), tools, journal })
    const decisions = [{ callId: 'big', approved, reason: 'too big' }]
    return [await agent.resume('r', { decisions }), add.runs]
  }

  it('hands the run back with the calls that a person has to decide on', async () => {
    const { outcome } = await waiting()
    expect(outcome).toMatchObject({
      status: 'waiting',
      approvals: [{ callId: 'big', name: 'add', arguments: '{"a":11,"b":2}' }],
    })
  })

  it('runs the whole step once the call is approved, in another process too', async () => {
    const [outcome, runs] = await decide((await waiting()).journal, true)
    expectDone(outcome)
    expect(runs).toEqual([
      { a: 11, b: 2 },
      { a: 1, b: 2 },
    ])
  })

  it('tells the model why a call was rejected, and runs the others', async () => {
    const [outcome, runs] = await decide((await waiting()).journal, false)
    expectDone(outcome)
    expect(runs).toEqual([{ a: 1, b: 2 }])
    expect(outcome.transcript[2]?.content).toContain('Error (denied)')
    expect(outcome.transcript[2]?.content).toContain('Reason: too big')
  })

  it('waits again where nothing was decided, and deciding twice changes nothing', async () => {
    const { journal } = await waiting()
    const { add, tools } = guarded()
    const agent = createAgent({ model: scriptedModel(['ok']), tools, journal })
    expect((await agent.resume('r')).status).toBe('waiting')
    const decisions = [{ callId: 'big', approved: true }]
    expectDone(await agent.resume('r', { decisions }))
    expectDone(await agent.resume('r', { decisions: [{ callId: 'big', approved: false }] }))
    expect(add.runs).toHaveLength(2)
  })

  it('is demanded where the predicate itself fails', async () => {
    const tools = [
      {
        ...countingAdd(),
        needsApproval: () => {
          throw new Error('broken')
        },
      },
    ]
    const outcome = await createAgent({ model: scriptedModel([{ calls: [small] }]), tools }).run('go')
    expect(outcome.status).toBe('waiting')
  })
})

describe('compaction', () => {
  const compacting = (compact: NonNullable<Memory['compact']>): Memory => ({
    view: (transcript, state) =>
      state === undefined
        ? transcript
        : [{ role: 'user', content: `Summary: ${String(state)}` }, ...transcript.slice(-2)],
    needsCompaction: (transcript, state) => transcript.length > 2 && state === undefined,
    compact,
  })

  it('runs as an effect before the next model call, and its state shapes what the model is shown', async () => {
    const model = scriptedModel([adding, 'ok'])
    const memory = compacting(async () => ({ state: 'added 1 and 2' }))
    const run = createAgent({ model, tools: [countingAdd()], memory }).stream('go')
    const states: string[] = []
    for await (const event of run) if (event.type === 'transition' && event.to) states.push(event.to)
    expectDone(await run.outcome)
    expect(states).toContain('observing.compacting')
    expect(model.requests[1]?.messages[0]?.content).toBe('Summary: added 1 and 2')
  })

  it('that fails does not kill the run', async () => {
    const model = scriptedModel([adding, 'ok'])
    const memory = compacting(async () => {
      throw new Error('summariser broke')
    })
    expectDone(await createAgent({ model, tools: [countingAdd()], memory }).run('go'))
  })

  it('comes before a limit is heeded', async () => {
    for (const compact of [async () => ({ state: 'short' }), () => Promise.reject(new Error('no'))]) {
      const model = scriptedModel([adding, 'closing'])
      const agent = createAgent({
        model,
        tools: [countingAdd()],
        memory: compacting(compact),
        limits: { steps: 1 },
      })
      expect(expectDone(await agent.run('go')).stoppedBy?.limit).toBe('steps')
    }
  })

  it('by a memory that cannot answer is left out', async () => {
    const memory: Memory = {
      view: (transcript) => transcript,
      needsCompaction: () => {
        throw new Error('broken')
      },
    }
    expectDone(
      await createAgent({ model: scriptedModel([adding, 'ok']), tools: [countingAdd()], memory }).run('go'),
    )
  })
})
