import { createInspector, type StatelyInspectionEvent } from '@statelyai/inspect'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { createAgent, defineTool, ModelError } from '../../src/index.ts'
import { type StatelyOptions, statelyInspector } from '../../src/stately/index.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  run: async ({ a, b }) => a + b,
})
const oneSum: readonly ScriptedStep[] = [
  { calls: [{ name: 'add', arguments: { a: 4700, b: 11 } }] },
  'It is 4711.',
]

/** What Stately's own inspector makes of a run. */
async function heardOf(script: readonly ScriptedStep[], options: StatelyOptions = {}) {
  const heard: StatelyInspectionEvent[] = []
  const inspector = createInspector({ send: (event) => heard.push(event) })
  const agent = createAgent({ model: scriptedModel(script), tools: [add], modelRetries: 0 })
  const { runId } = await agent.run('4700 + 11?', { onEvent: statelyInspector(inspector, options) })
  const ofRun = () => heard.filter(({ sessionId }) => sessionId === runId)
  await vi.waitFor(() => expect(snapshotsIn(ofRun()).at(-1)?.status).toBe('done'))
  return { heard, ofRun: ofRun(), runId }
}

interface Heard {
  readonly status: string
  readonly value?: unknown
  readonly output?: unknown
  readonly error?: unknown
}

function snapshotsIn(events: readonly StatelyInspectionEvent[]): readonly Heard[] {
  return events.flatMap((event) => (event.type === '@xstate.snapshot' ? [event.snapshot as Heard] : []))
}

describe("a run in Stately's inspector", () => {
  it('is an actor with the chart of the agent', async () => {
    const { ofRun } = await heardOf(['Hello.'])
    const [actor] = ofRun
    if (actor?.type !== '@xstate.actor') throw new Error('No actor comes first.')
    const { id, states } = JSON.parse(actor.definition ?? '{}') as { id: string; states: object }
    expect(id).toBe('agent')
    expect(Object.keys(states)).toContain('executingTools')
  })

  it('goes through every state, transient ones included', async () => {
    const { ofRun } = await heardOf(oneSum)
    expect(snapshotsIn(ofRun).map(({ value }) => value)).toEqual(
      expect.arrayContaining([
        { thinking: 'calling' },
        'parsing',
        'executingTools',
        { observing: 'recording' },
        'done',
      ]),
    )
    const events = ofRun.flatMap((event) => (event.type === '@xstate.event' ? [event.event.type] : []))
    expect(events).toContain('model done')
    expect(events).toContain('always [hasCalls]')
  })

  it('has its model and tool calls as actors below it', async () => {
    const { heard, runId } = await heardOf(oneSum)
    const actors = heard.flatMap((event) => (event.type === '@xstate.actor' ? [event] : []))
    expect(actors.map(({ name, parentId }) => [name, parentId])).toEqual([
      ['agent', undefined],
      ['model model.1.1', runId],
      ['add tool.1.0', runId],
      ['model model.2.1', runId],
    ])
    const ofTool = heard.filter(({ sessionId }) => sessionId === `${runId}/tool.1.0`)
    expect(snapshotsIn(ofTool).map(({ status }) => status)).toEqual(['done'])
  })

  it('shows what failed, and how the run ended', async () => {
    const { heard, ofRun, runId } = await heardOf([
      new ModelError('authentication', 'No such key.', { retryable: false }),
    ])
    const ofModel = heard.filter(({ sessionId }) => sessionId === `${runId}/model.1.1`)
    expect(snapshotsIn(ofModel)).toEqual([
      expect.objectContaining({
        status: 'error',
        error: expect.objectContaining({ code: 'authentication' }),
      }),
    ])
    expect(snapshotsIn(ofRun).at(-1)).toMatchObject({
      value: 'aborted',
      output: { status: 'aborted', reason: 'model_error' },
    })
  })

  it('says nothing of what was said unless that is asked for', async () => {
    const told = (heard: readonly StatelyInspectionEvent[]) => JSON.stringify(heard)
    expect(told((await heardOf(oneSum)).heard)).not.toMatch(/4711|4700/)
    const { heard } = await heardOf(oneSum, { captureContent: true })
    expect(told(heard)).toContain('It is 4711.')
    expect(told(heard)).toContain('4700')
  })
})
