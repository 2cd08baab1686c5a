import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { type AgentProgress, agentAsTool } from '../../src/agentAsTool.ts'
import {
  type AgentEvent,
  type AgentOptions,
  createAgent,
  defineTool,
  type Journal,
  memoryJournal,
  type RunOptions,
  type RunUsage,
  type Tool,
} from '../../src/index.ts'
import { noUsage } from '../../src/messages/reply.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { journalOf, journalThat } from '../support/journals.ts'
import { expectAborted, expectDone, expectSendable } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'

const helperFacts = { name: 'helper', description: 'Helps.' }
const callHelper: ScriptedStep = {
  calls: [{ name: 'helper', arguments: { task: 'add 1 and 2' }, id: 'c' }],
  usage: { inputTokens: 100 },
}
const callAdd: ScriptedStep = {
  calls: [{ name: 'add', arguments: { a: 1, b: 2 }, id: 'a' }],
  usage: { inputTokens: 10 },
}

/** A sub-agent that follows a script, as a tool. */
function helperOf(script: readonly ScriptedStep[], options: Omit<AgentOptions, 'model'> = {}): Tool {
  return agentAsTool(createAgent({ model: scriptedModel(script), ...options }), helperFacts)
}

/** Runs an agent that calls this helper once and then answers. */
function ask(helper: Tool, options: RunOptions = {}) {
  const model = scriptedModel([callHelper, 'The helper is done.'])
  return createAgent({ model, tools: [helper] }).run('go', { runId: 'r', ...options })
}

async function toldOf(helper: Tool): Promise<unknown> {
  return expectDone(await ask(helper)).transcript[2]?.content
}

describe('an agent as a tool', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('is asked with the task, and its answer is the result', async () => {
    const model = scriptedModel(['It is 3.'])
    expect(await toldOf(agentAsTool(createAgent({ model }), helperFacts))).toBe('It is 3.')
    expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: 'add 1 and 2' }])
  })

  it('can take other arguments, and be asked in other words', async () => {
    const model = scriptedModel(['3', '3', '3'])
    const agent = createAgent({ model })
    const input = z.object({ task: z.string(), polite: z.boolean().default(true) })
    const message = ({ task, polite }: z.output<typeof input>) => `${task}${polite ? ', please' : ''}`
    await toldOf(agentAsTool(agent, { ...helperFacts, input, message }))
    await toldOf(agentAsTool(agent, { ...helperFacts, input }))
    await toldOf(
      agentAsTool(agent, {
        ...helperFacts,
        message: ({ task }) => [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: task },
        ],
      }),
    )
    expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual([
      'add 1 and 2, please',
      '{"task":"add 1 and 2","polite":true}',
      'add 1 and 2',
    ])
    expect(model.requests[2]?.messages[0]).toEqual({ role: 'system', content: 'Be brief.' })
  })

  it('gives what its output schema makes of the answer', async () => {
    const agent = createAgent({ model: scriptedModel(['{"sum":3}']), output: z.object({ sum: z.number() }) })
    expect(await toldOf(agentAsTool(agent, helperFacts))).toBe('{"sum":3}')
  })

  it('is given the context of the run above', async () => {
    const seen: unknown[] = []
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      input: z.object({}),
      run: (_args, { context }) => void seen.push(context),
    })
    const helper = helperOf([{ calls: [{ name: 'look' }] }, 'ok'], { tools: [look] })
    await ask(helper, { context: { user: 'ada' } })
    expect(seen).toEqual([{ user: 'ada' }])
  })

  it('that gives no answer is a failed call with reason and last words, and the run goes on', async () => {
    const broken = helperOf([{ text: 'Let me add.', ...callAdd }, new Error('no credit')], {
      tools: [countingAdd()],
    })
    expect(await toldOf(broken)).toContain(
      'Error (failed): helper failed: the agent gave no answer (model_error): The model call failed: no credit ' +
        'The last that it said: Let me add.\n',
    )
  })

  it('that waits for a person is a failed call that names what it waits for', async () => {
    const add = { ...countingAdd(), needsApproval: true }
    const told = await toldOf(helperOf([callAdd], { tools: [add] }))
    expect(told).toMatch(/^Error \(failed\): helper failed: .*approve its calls of add/)
    expect(add.runs).toEqual([])
  })

  it('that is asked nothing is a failed call', async () => {
    const agent = createAgent({ model: scriptedModel([]) })
    const told = await toldOf(agentAsTool(agent, { ...helperFacts, message: () => '' }))
    expect(told).toMatch(/^Error \(failed\): helper failed: .*A run needs a question/)
  })

  it('is cancelled with the run above', async () => {
    const signals: AbortSignal[] = []
    const events: AgentEvent[] = []
    const helper = helperOf([
      (_request, { signal }) => {
        signals.push(signal)
        return HANG
      },
    ])
    const controller = new AbortController()
    const outcome = await ask(helper, {
      signal: controller.signal,
      onEvent(event) {
        events.push(event)
        if (event.type === 'tool.progress' && isModelStart(event.progress))
          queueMicrotask(() => controller.abort())
      },
    })
    expect(expectAborted(outcome).reason).toBe('cancelled')
    expectSendable(outcome)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it('that takes too long is aborted, and what it spent until then is counted', async () => {
    vi.useFakeTimers()
    const waitInVain: ScriptedStep = () => {
      queueMicrotask(() => void vi.advanceTimersByTimeAsync(600_000))
      return HANG
    }
    const outcome = expectDone(await ask(helperOf([callAdd, waitInVain], { tools: [countingAdd()] })))
    expect(outcome.transcript[2]?.content).toContain(
      'Error (timeout): helper did not finish within 600000 ms',
    )
    expect(outcome.usage.inputTokens).toBe(100 + 10 + 1)
  })
})

function isModelStart(progress: unknown): boolean {
  return (progress as AgentProgress).event.type === 'model.started'
}

describe('a sub-agent that is given up with its call', () => {
  const prices = { scripted: { input: 1, output: 1 } }
  const spends: ScriptedStep = {
    calls: [{ name: 'add', arguments: { a: 1, b: 2 }, id: 'a' }],
    usage: { inputTokens: 5000, outputTokens: 500 },
  }

  afterEach(() => {
    vi.useRealTimers()
  })

  /** A run whose helper spends, and then hangs until something is done about it. */
  function hanging(whenItHangs: () => void, journal: Journal = memoryJournal()) {
    const hangs: ScriptedStep = () => {
      queueMicrotask(whenItHangs)
      return HANG
    }
    return createAgent({
      model: scriptedModel([callHelper, { text: 'closing', usage: { inputTokens: 7 } }]),
      tools: [helperOf([spends, hangs], { tools: [countingAdd()] })],
      limits: { time: { conclude: 300, abort: 2000 } },
      journal,
      prices,
    })
  }

  it('has counted what it spent when the time for work is over', async () => {
    vi.useFakeTimers()
    const journal = memoryJournal()
    const agent = hanging(() => void vi.advanceTimersByTimeAsync(300), journal)
    const outcome = expectDone(await agent.run('go', { runId: 'r' }))
    expect(outcome.stoppedBy?.limit).toBe('time')
    expect(outcome.usage).toMatchObject({ inputTokens: 100 + 5000 + 7 })
    expect(outcome.cost).toBeCloseTo(expectedCost(outcome.usage))
    const replayed = expectDone(await agent.resume('r'))
    expect(replayed.usage).toEqual(outcome.usage)
  })

  it('has counted what it spent when the run is aborted', async () => {
    const controller = new AbortController()
    const events: AgentEvent[] = []
    const outcome = await hanging(() => controller.abort()).run('go', {
      signal: controller.signal,
      onEvent: (event) => void events.push(event),
    })
    expect(expectAborted(outcome).usage).toMatchObject({ inputTokens: 100 + 5000 })
    expect(outcome.cost).toBeCloseTo(expectedCost(outcome.usage))
    const told = events.findLast(({ type }) => type === 'usage.updated')
    expect(told).toMatchObject({ usage: { inputTokens: 100 + 5000 } })
  })

  it('has counted what it spent when the time of the run is over', async () => {
    vi.useFakeTimers()
    const agent = hanging(() => void vi.advanceTimersByTimeAsync(300))
    const outcome = await createAgent({
      ...agent.options,
      limits: { time: { abort: 300 } },
    }).run('go')
    expect(expectAborted(outcome)).toMatchObject({ reason: 'timeout', usage: { inputTokens: 100 + 5000 } })
  })

  it('is counted where it has come to its end and the run does not know yet', async () => {
    const recording = Promise.withResolvers<void>()
    const journal = journalThat({})
    const controller = new AbortController()
    const counting = (name: string): Tool =>
      defineTool({
        name,
        description: 'Spends.',
        input: z.object({}),
        run: (_args, { addUsage }) => addUsage?.({ ...noUsage, inputTokens: 5000 }),
      })
    const agent = createAgent({
      model: scriptedModel([{ ...callHelper, calls: [{ name: 'first' }, { name: 'second' }] }]),
      tools: [counting('first'), counting('second')],
      journal: {
        ...journal,
        append: async (id, entries, length) => {
          const isOfFirst = entries.some((entry) =>
            JSON.stringify(entry).includes('"settled","place":"tool.'),
          )
          if (isOfFirst) {
            // Both have ended by now; word to stop overtakes what the second one has to say.
            setImmediate(() => {
              controller.abort()
              recording.resolve()
            })
            await recording.promise
          }
          return journal.append(id, entries, length)
        },
      },
    })
    const outcome = expectAborted(await agent.run('go', { signal: controller.signal }))
    expect(outcome.usage.inputTokens).toBe(100 + 5000 + 5000)
  })

  function expectedCost({ inputTokens, outputTokens }: RunUsage): number {
    return (inputTokens + outputTokens) / 1e6
  }
})

describe('the run of a sub-agent', () => {
  it('counts its tokens to the run above, once', async () => {
    const helper = helperOf(
      [callAdd, { text: '3', usage: { inputTokens: 20, cachedTokens: 5, outputTokens: 7 } }],
      {
        tools: [countingAdd()],
      },
    )
    const { usage } = await ask(helper)
    expect(usage).toMatchObject({
      inputTokens: 100 + 10 + 20 + 1,
      cachedTokens: 5,
      outputTokens: 1 + 1 + 7 + 1,
    })
  })

  it('counts the tokens of its own sub-agents too', async () => {
    const inner = helperOf([{ text: '3', usage: { inputTokens: 1000 } }])
    const helper = helperOf([callHelper, 'It is 3.'], { tools: [inner] })
    expect((await ask(helper)).usage.inputTokens).toBe(100 + (100 + 1000 + 1) + 1)
  })

  it('is visible below the run above, by an id of its own', async () => {
    const events: AgentEvent[] = []
    await ask(helperOf(['It is 3.']), { onEvent: (event) => events.push(event) })
    const shown = events.flatMap((event) => (event.type === 'tool.progress' ? [event] : []))
    expect(new Set(shown.map(({ callId, runId }) => [runId, callId].join()))).toEqual(new Set(['r,c']))
    const progress = shown.map((event) => event.progress as AgentProgress)
    expect(progress.map(({ type, event }) => `${type} ${event.runId} ${event.type}`)).toEqual([
      'agent r/c run.started',
      'agent r/c messages.appended',
      'agent r/c limits.updated',
      'agent r/c model.started',
      'agent r/c model.requested',
      'agent r/c model.delta',
      'agent r/c model.delta',
      'agent r/c model.delta',
      'agent r/c model.finished',
      'agent r/c usage.updated',
      'agent r/c transition',
      'agent r/c transition',
      'agent r/c messages.appended',
      'agent r/c run.finished',
    ])
  })

  it('goes on where a crash stopped it, with both journals, and is counted in full', async () => {
    const crashed = await crash()
    const add = countingAdd()
    const subAgent = createAgent({
      model: scriptedModel([{ text: 'It is 3.', usage: { inputTokens: 20 } }]),
      tools: [add],
      journal: crashed.subJournal,
    })
    const helper = agentAsTool(subAgent, { ...helperFacts, idempotent: true })
    const agent = createAgent({ model: scriptedModel(['3']), tools: [helper], journal: crashed.journal })
    const outcome = expectDone(await agent.resume('r'))
    expect(outcome.transcript[2]?.content).toBe('It is 3.')
    expect(outcome.usage.inputTokens).toBe(100 + 10 + 20 + 1)
    expect(add.runs).toEqual([])
  })

  it('is not begun anew after a crash where it is not said to be idempotent', async () => {
    const { journal } = await crash()
    const model = scriptedModel([])
    const helper = agentAsTool(createAgent({ model }), helperFacts)
    const agent = createAgent({ model: scriptedModel(['3']), tools: [helper], journal })
    const outcome = expectDone(await agent.resume('r'))
    expect(outcome.transcript[2]?.content).toContain('Error (in_doubt)')
    expect(model.requests).toEqual([])
  })

  it('is not taken for an earlier one, where run ids are used twice and nothing was said of going on', async () => {
    const model = scriptedModel(['the old answer', 'the new answer'])
    const helper = agentAsTool(createAgent({ model, journal: memoryJournal() }), helperFacts)
    expect(await toldOf(helper)).toBe('the old answer')
    expect(await toldOf(helper)).toEqual(
      expect.stringContaining('Error (failed): helper failed: MisuseError: A run with the id'),
    )
  })

  it('that had ended before the crash is not run again', async () => {
    const { journal, subJournal } = await crash()
    const finishing = createAgent({
      model: scriptedModel(['It is 3.']),
      tools: [countingAdd()],
      journal: subJournal,
    })
    await finishing.resume('r/c')
    const model = scriptedModel([])
    const subAgent = createAgent({ model, tools: [countingAdd()], journal: subJournal })
    const helper = agentAsTool(subAgent, { ...helperFacts, idempotent: true })
    const agent = createAgent({ model: scriptedModel(['3']), tools: [helper], journal })
    expect(expectDone(await agent.resume('r')).transcript[2]?.content).toBe('It is 3.')
    expect(model.requests).toEqual([])
  })
})

/** The journals that a process leaves which dies in the second model call of the sub-agent. */
async function crash(): Promise<{ journal: Journal; subJournal: Journal }> {
  const journals = { journal: memoryJournal(), subJournal: memoryJournal() }
  const died = Promise.withResolvers<{ journal: Journal; subJournal: Journal }>()
  const die = async (): Promise<ScriptedStep> => {
    died.resolve({
      journal: await copyOf(journals.journal, 'r'),
      subJournal: await copyOf(journals.subJournal, 'r/c'),
    })
    return HANG
  }
  const subAgent = createAgent({
    model: scriptedModel([callAdd, die]),
    tools: [countingAdd()],
    journal: journals.subJournal,
  })
  const helper = agentAsTool(subAgent, { ...helperFacts, idempotent: true })
  const agent = createAgent({
    model: scriptedModel([callHelper]),
    tools: [helper],
    journal: journals.journal,
  })
  const run = agent.stream('go', { runId: 'r' })
  const copies = await died.promise
  run.abort()
  await run.outcome
  return copies
}

async function copyOf(journal: Journal, runId: string): Promise<Journal> {
  return journalOf((await journal.load(runId)) ?? [], runId)
}
