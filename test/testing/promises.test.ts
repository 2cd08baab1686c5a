import { describe, expect, it, vi } from 'vitest'
import { environment } from '../../src/environment.ts'
import {
  type Agent,
  type AgentEvent,
  createAgent,
  type Outcome,
  type RunOptions,
  type Tool,
} from '../../src/index.ts'
import { judgePlay, termsOf } from '../../src/testing/check/judgePlay.ts'
import { along, pathOf } from '../../src/testing/check/paths.ts'
import { Play, type Stage, stageOf } from '../../src/testing/check/play.ts'
import { resumeAfter } from '../../src/testing/check/resumptions.ts'
import { StagedAgent } from '../../src/testing/double/stagedAgent.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { countingAdd } from '../support/tools.ts'

/** Runs as the loop does, but for one thing. */
type BrokenRun = (run: (options?: RunOptions) => Promise<Outcome>, options: RunOptions) => Promise<Outcome>

const limits = { steps: 2 } as const

function stage(options: { readonly idempotent?: boolean } = {}): Stage<string> {
  const agent = createAgent({ model: scriptedModel([]), tools: [countingAdd(options)], limits })
  return { ...stageOf(new StagedAgent(agent, {}), 'go'), patienceMs: 10 }
}

/** What a check says of a loop that is broken in one way, on one path. */
async function breachOf(path: string, broken?: BrokenRun) {
  const on = stage()
  const { agent } = on.agent.double
  if (broken !== undefined) {
    const run = agent.run.bind(agent)
    vi.spyOn(agent, 'run').mockImplementation((input, options = {}) =>
      broken((own = options) => run(input, own), options),
    )
  }
  const play = new Play(on, along(pathOf(path)))
  await play.lead()
  judgePlay(play, termsOf(on))
  return play.breach
}

/** A run of which one kind of event is changed, or not told. */
function changing(change: (event: AgentEvent) => AgentEvent | undefined): BrokenRun {
  return (run, options) =>
    run({
      ...options,
      onEvent(event) {
        const changed = change(event)
        if (changed !== undefined) options.onEvent?.(changed)
      },
    })
}

const done = 'call add, ok, answer'

describe('a loop that is sound', () => {
  it.each([
    done,
    'goes on',
    'cancel',
    'call add, cancel',
    'hang',
    'busy, cancel',
    'failure',
    'goes on, busy, wait',
  ])('breaks no promise on the path "%s"', async (path) => {
    expect(await breachOf(path)).toBeUndefined()
  })
})

describe('the promise', () => {
  it.each<[string, string, string, BrokenRun, RegExp]>([
    ['one outcome', 'a run that rejects', done, () => Promise.reject(new Error('oh')), /it rejected: oh/],
    [
      'one outcome',
      'an answer that is empty',
      done,
      async (run) => ({ ...(await run()), status: 'done', output: '' }) as Outcome,
      /it is empty/,
    ],
    [
      'one outcome',
      'a run that ends otherwise than it was told',
      'cancel',
      async (run) => ({ ...(await run()), reason: 'timeout' }) as Outcome,
      /aborted \(timeout\)/,
    ],
    [
      'one outcome',
      'events without an end',
      done,
      changing((event) => (event.type === 'run.finished' ? undefined : event)),
      /it is messages.appended/,
    ],
    ['it settles', 'a run that never ends', done, () => new Promise(() => {}), /nothing happened for 10 ms/],
    [
      'it settles',
      'a run that is deaf to its signal',
      'cancel',
      (run, { signal: _signal, ...deaf }) => run(deaf),
      /it did not/,
    ],
    [
      'it settles',
      'something that begins after the run was cancelled',
      'call add, cancel',
      changing(({ type, ...event }) => {
        if (type !== 'tool.finished') return { type, ...event } as AgentEvent
        return { type: 'tool.started', arguments: '{}', ...event } as AgentEvent
      }),
      /tool\.started at tool\.1\.0/,
    ],
    [
      'it settles',
      'a timer that is left',
      done,
      (run) => {
        environment().after(1000, () => {})
        return run()
      },
      /1 are running after the end/,
    ],
    [
      'it settles',
      'a listener that is left',
      done,
      (run, { signal }) => {
        signal?.addEventListener('abort', () => {})
        return run()
      },
      /1 are/,
    ],
    [
      'it settles',
      'an event after the end',
      'cancel',
      async (run, { onEvent }) => {
        const outcome = await run()
        setImmediate(() => onEvent?.({ type: 'run.finished', runId: 'check', at: 0, outcome }))
        return outcome
      },
      /an event followed the end: run\.finished/,
    ],
    [
      'always sendable',
      'a transcript with a call that has no answer',
      done,
      async (run) => {
        const outcome = await run()
        return { ...outcome, transcript: outcome.transcript.slice(0, 2) }
      },
      /call_unanswered/,
    ],
    [
      'explained',
      'an end that nothing led to',
      done,
      async (run) =>
        ({ ...(await run()), status: 'aborted', reason: 'internal_error', message: 'oh' }) as Outcome,
      /"internal_error": oh/,
    ],
    [
      'explained',
      'an edge that is not told',
      done,
      changing((event) => (event.type === 'transition' && event.to === 'executingTools' ? undefined : event)),
      /executingTools → executingTools/,
    ],
    [
      'explained',
      'an edge with another guard',
      done,
      changing((event) => (event.type === 'transition' ? { ...event, guard: 'isLucky' } : event)),
      /thinking\.calling → parsing/,
    ],
    [
      'explained',
      'an edge to the end that is not told',
      done,
      changing((event) => (event.type === 'transition' && event.to === 'done' ? undefined : event)),
      /they lead to parsing/,
    ],
    [
      'explained',
      'an effect whose end is not told',
      done,
      changing((event) => (event.type === 'tool.finished' ? undefined : event)),
      /tool\.1\.0 is not/,
    ],
    [
      'explained',
      'a limit that is not told',
      'goes on',
      changing((event) => (event.type === 'limit.reached' ? undefined : event)),
      /there is none/,
    ],
  ])('"%s" does not hold for %s', async (promise, _what, path, broken, got) => {
    expect(await breachOf(path, broken)).toMatchObject({ promise, got: expect.stringMatching(got) })
  })

  it.each<[string, string, Partial<Agent['options']>, RegExp]>([
    ['steps', 'goes on', { limits: { steps: 1 } }, /^2$|2 model calls/],
    ['attempts', 'busy, wait, busy, wait', { limits: { steps: 1 }, modelRetries: 0 }, /3 model calls/],
    ['closing attempts', 'goes on, busy, wait, busy, wait', { modelRetries: 0 }, /^3$/],
  ])('"bounded" does not hold for more %s than the limits allow', async (_what, path, own, got) => {
    const on = stage()
    const play = new Play(on, along(pathOf(path)))
    await play.lead()
    const tighter = new StagedAgent(createAgent({ ...on.agent.double.agent.options, ...own }), {})
    judgePlay(play, termsOf({ ...on, agent: tighter }))
    expect(play.breach).toMatchObject({ promise: 'bounded', got: expect.stringMatching(got) })
  })

  it('"bounded" does not hold for a tool that runs in the closing call', async () => {
    const on = stage()
    const play = new Play(on, along(pathOf('goes on')))
    const { agent } = on.agent.double
    const run = agent.run.bind(agent)
    vi.spyOn(agent, 'run').mockImplementation(async (input, options) => {
      const outcome = await run(input, options)
      await play.run(countingAdd(), contextAt('tool.3.0'))
      return outcome
    })
    await play.lead()
    expect(play.breach).toMatchObject({ promise: 'bounded', got: 'add ran at tool.3.0' })
  })

  it('"once" does not hold for a call that runs more often than its tool is tried again', async () => {
    const on = stage()
    const play = new Play(on, along(pathOf(done)))
    await play.lead()
    const tool = countingAdd()
    for (let i = 0; i < tool.retries + 1; i++) await play.run(tool, contextAt('tool.1.0'))
    judgePlay(play, termsOf(on))
    expect(play.breach).toMatchObject({ promise: 'once', got: 'it ran 3 times' })
  })

  it.each([
    ['what had completed', 4, { idempotent: true }, /what had completed does not happen again/],
    ['a call in doubt', 3, {}, /only where its tool is idempotent/],
  ])(
    '"once" does not hold for a resumption that executes %s again',
    async (_what, cut, options, expected) => {
      const on = stage(options)
      const play = new Play(on, along(pathOf(done)))
      await play.lead()
      const { agent } = on.agent.double
      const resume = agent.resume.bind(agent)
      vi.spyOn(agent, 'resume').mockImplementation(async (id, own) => {
        const [add] = agent.options.tools as readonly Tool[]
        await add?.run({}, contextAt('tool.1.0'))
        return resume(id, own)
      })
      const resumed = await resumeAfter(on, play, await play.entries(), cut)
      expect(resumed.breach).toMatchObject({ promise: 'once', expected: expect.stringMatching(expected) })
    },
  )

  it('"once" does not hold for a resumption with another outcome', async () => {
    const on = stage()
    const play = new Play(on, along(pathOf(done)))
    await play.lead()
    const { agent } = on.agent.double
    const resume = agent.resume.bind(agent)
    vi.spyOn(agent, 'resume').mockImplementation(async (id, own) => ({
      ...(await resume(id, own)),
      steps: 7,
    }))
    const resumed = await resumeAfter(on, play, await play.entries(), 2)
    expect(resumed.breach).toMatchObject({ promise: 'once', got: expect.stringContaining('"steps":7') })
  })

  it('"always sendable" does not hold for a system message that changes', async () => {
    const on = stage()
    const play = new Play(on, () => undefined)
    const ask = (content: string) =>
      play.answer(
        {
          messages: [
            { role: 'system', content },
            { role: 'user', content: 'go' },
          ],
          tools: [],
          toolChoice: 'auto',
        },
        { signal: new AbortController().signal },
      )
    await ask('Be brief.')
    expect(play.breach).toBeUndefined()
    await ask('Be verbose.')
    expect(play.breach).toMatchObject({ promise: 'always sendable', got: 'in request 2 it is "Be verbose."' })
  })
})

function contextAt(place: string) {
  return {
    signal: new AbortController().signal,
    idempotencyKey: `check/${place}`,
    runId: 'check',
    callId: 'call',
    context: undefined,
    emit: () => {},
  }
}
