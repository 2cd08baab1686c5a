import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  agentAsTool,
  createAgent,
  defineTool,
  type Journal,
  memoryJournal,
  type Tool,
} from '../../src/index.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { expectAborted, expectDone, rejectionOf } from '../support/outcome.ts'
import { deferred } from '../support/tools.ts'
import { entriesOf, settledPlaces } from './support.ts'

const callHelper: ScriptedStep = { calls: [{ name: 'helper', arguments: { task: 'work' }, id: 'c' }] }
const callWork: ScriptedStep = { calls: [{ name: 'work', id: 'w' }] }

/** A parent and its sub-agent, each with a journal; their tool works until it is told that it may end. */
function family(
  journals: { readonly parent?: Journal; readonly child: Journal },
  scripts: { readonly parent: readonly ScriptedStep[]; readonly child: readonly ScriptedStep[] },
): { parent: Agent; child: Agent; begun: Promise<AbortSignal>; finish: (result: string) => void } {
  const begun = deferred<AbortSignal>()
  const finished = deferred<string>()
  const work: Tool = defineTool({
    name: 'work',
    description: 'Works.',
    input: z.object({}),
    idempotent: true,
    run(_args, { signal }) {
      begun.resolve(signal)
      return finished.promise
    },
  })
  const child = createAgent({
    model: scriptedModel(scripts.child),
    tools: [work],
    journal: journals.child,
  })
  const helper = agentAsTool(child, { name: 'helper', description: 'Helps.', idempotent: true })
  const parent = createAgent({
    model: scriptedModel(scripts.parent),
    tools: [helper],
    ...(journals.parent === undefined ? {} : { journal: journals.parent }),
  })
  return { parent, child, begun: begun.promise, finish: finished.resolve }
}

const answers = { parent: ['The helper is done.'], child: ['worked'] }

describe('a sub-agent', () => {
  const journals = () => ({ parent: memoryJournal(), child: memoryJournal() })

  /** What goes on in the next process, where nothing of the first is lost and nothing of it final. */
  async function goesOn(kept: { readonly parent: Journal; readonly child: Journal }): Promise<void> {
    expect(settledPlaces(await entriesOf(kept.parent))).toEqual(['model.1.1'])
    expect(settledPlaces(await entriesOf(kept.child, 'r/c'))).toEqual(['model.1.1'])
    expect(await kept.child.list({ status: 'running' })).toHaveLength(1)
    const next = family(kept, answers)
    next.finish('ok')
    const outcome = expectDone(await next.parent.resume('r'))
    expect(outcome.output).toBe('The helper is done.')
    expect(outcome.transcript[2]?.content).toBe('worked')
    expect((await next.child.replay('r/c')).status).toBe('done')
  }

  it('whose parent is closed goes on where it stopped', async () => {
    const kept = journals()
    const { parent, begun } = family(kept, { parent: [callHelper], child: [callWork] })
    const running = parent.run('go', { runId: 'r' })
    const signal = await begun
    expect(await parent.close({ timeoutMs: 1 })).toEqual({ interrupted: ['r'] })
    expect(expectAborted(await running).reason).toBe('interrupted')
    expect(signal.aborted).toBe(true)
    await goesOn(kept)
  })

  it('that is closed itself leaves the call above open, and both go on where they stopped', async () => {
    const kept = journals()
    const { parent, child, begun } = family(kept, { parent: [callHelper], child: [callWork] })
    const running = parent.run('go', { runId: 'r' })
    await begun
    expect(await child.close({ timeoutMs: 1 })).toEqual({ interrupted: ['r/c'] })
    expect(expectAborted(await running).reason).toBe('interrupted')
    await goesOn(kept)
  })

  it('that was closed before the call leaves it open too', async () => {
    const kept = journals()
    const { parent, child } = family(kept, { parent: [callHelper], child: [] })
    await child.close()
    expect(expectAborted(await parent.run('go', { runId: 'r' })).reason).toBe('interrupted')
    const next = family(kept, answers)
    expect(expectDone(await next.parent.resume('r')).transcript[2]?.content).toBe('worked')
  })

  it('that is closed below a run in no journal is a failed call', async () => {
    const { child: childJournal } = journals()
    const scripts = { parent: [callHelper, 'It could not be asked.'], child: [callWork] }
    const { parent, child, begun } = family({ child: childJournal }, scripts)
    const running = parent.run('go', { runId: 'r' })
    await begun
    await child.close({ timeoutMs: 1 })
    const outcome = expectDone(await running)
    expect(outcome.transcript[2]?.content).toContain('The agent was closed')
    expect(await childJournal.list({ status: 'running' })).toHaveLength(1)
  })

  it('that is cancelled with its parent is cancelled for good', async () => {
    const kept = journals()
    const { parent, begun } = family(kept, { parent: [callHelper], child: [callWork] })
    const run = parent.stream('go', { runId: 'r' })
    await begun
    run.abort('enough')
    expect(expectAborted(await run.outcome).reason).toBe('cancelled')
    const summary = (): Promise<string | undefined> =>
      Promise.resolve(kept.child.list()).then(([row]) => row?.reason)
    await expect.poll(summary).toBe('cancelled')
  })

  it('that was recovered first is awaited, not run once more', async () => {
    const kept = journals()
    const first = family(kept, { parent: [callHelper], child: [callWork] })
    const running = first.parent.run('go', { runId: 'r' })
    await first.begun
    await first.parent.close({ timeoutMs: 1 })
    await running

    const next = family(kept, answers)
    const recoveringChild = next.child.recover()
    await next.begun
    const recoveringParent = next.parent.recover()
    // The parent's call finds the run under way.
    await expect.poll(async () => (await entriesOf(kept.parent)).at(-1)?.type).toBe('intent')
    next.finish('ok')
    expect(await recoveringChild).toMatchObject([{ runId: 'r/c', outcome: { output: 'worked' } }])
    const [recovered] = await recoveringParent
    expect(recovered).toMatchObject({ runId: 'r', outcome: { output: 'The helper is done.' } })
    const places = settledPlaces(await entriesOf(kept.child, 'r/c'))
    expect(places).toEqual(['model.1.1', 'tool.1.0', 'model.2.1'])
  })
})

describe('a run that is under way', () => {
  async function working() {
    const journal = memoryJournal()
    const { child, begun, finish } = family({ child: journal }, { parent: [], child: [callWork, 'worked'] })
    const running = child.run('go', { runId: 'r' })
    await begun
    return { agent: child, running, finish, journal }
  }

  it('is awaited by who asks for that, and taken up as it stands then', async () => {
    const { agent, running, finish } = await working()
    expect(await rejectionOf(agent.resume('r'))).toMatchObject({ code: 'run_active' })
    const queued = [agent.resume('r', { whenBusy: 'queue' }), agent.resume('r', { whenBusy: 'queue' })]
    finish('ok')
    expect(expectDone(await running).output).toBe('worked')
    for (const resumed of await Promise.all(queued)) expect(expectDone(resumed).output).toBe('worked')
  })

  it('is awaited no longer than the signal of who asks for it lasts', async () => {
    const { agent, running, finish } = await working()
    const stop = new AbortController()
    const queued = rejectionOf(agent.resume('r', { whenBusy: 'queue', signal: stop.signal }))
    stop.abort()
    expect(await queued).toMatchObject({ code: 'run_active' })
    finish('ok')
    await running
  })

  it('cannot be awaited in another word', async () => {
    const agent = createAgent({ model: scriptedModel([]), journal: memoryJournal() })
    const refused = agent.resume('r', { whenBusy: 'wait' as 'queue' })
    expect(await rejectionOf(refused)).toMatchObject({ code: 'invalid_option' })
  })
})
