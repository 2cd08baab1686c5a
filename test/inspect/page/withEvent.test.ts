import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../../src/index.ts'
import { enteredWith } from '../../../src/inspect/page/run/entered.ts'
import { lastMove } from '../../../src/inspect/page/run/lastMove.ts'
import { elapsedOf, emptyView, stepNumberOf } from '../../../src/inspect/page/run/runView.ts'
import { withEvent } from '../../../src/inspect/page/run/withEvent.ts'
import { createAgentMachine } from '../../../src/machines/index.ts'
import { folded, numbered, recorded } from './recorded.ts'

const failing = Object.assign(new Error('busy'), { code: 'overloaded', retryable: true, retryAfterMs: 1 })

const twoTools = [
  {
    calls: [
      { name: 'echo', arguments: { say: 'one' }, id: 'a' },
      { name: 'echo', arguments: { say: 'two', fail: true }, id: 'b' },
    ],
  },
  'That is all.',
]

describe('the view of a run, after all its events', () => {
  it('has come to what the outcome says', async () => {
    const { events, outcome } = await recorded(twoTools)
    const view = folded(events)
    expect(view).toMatchObject({ phase: 'done', state: 'done', outcome, usage: outcome.usage })
    expect(view.transcript).toEqual(outcome.transcript)
    expect(stepNumberOf(view)).toBe(outcome.steps)
  })

  it('counts every edge that was taken', async () => {
    const { events } = await recorded(twoTools)
    const taken = events.filter(({ event }) => event.type === 'transition')
    const counts = [...folded(events).edgeCounts.values()]
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(taken.length)
    expect(folded(events).edgeCounts.get('parsing|always|hasCalls|executingTools')).toBe(1)
  })

  it('is at each transition in the state that it leaves', async () => {
    const { events } = await recorded([failing, ...twoTools])
    let view = emptyView
    let seen = 0
    for (const inspected of events) {
      const { event } = inspected
      if (event.type === 'transition') {
        seen += 1
        expect([view.state, view.state?.split('.')[0]]).toContain(event.from)
      }
      view = withEvent(view, inspected)
    }
    expect(seen).toBeGreaterThan(8)
  })

  it('has the calls with what became of them', async () => {
    const { events } = await recorded([failing, ...twoTools])
    const { calls } = folded(events)
    expect(calls.map(({ kind, place, status }) => [kind, place, status])).toEqual([
      ['model', 'model.1.1', 'failed'],
      ['pause', 'sleep.1.1', 'done'],
      ['model', 'model.1.2', 'done'],
      ['tool', 'tool.1.0', 'done'],
      ['tool', 'tool.1.1', 'failed'],
      ['model', 'model.2.1', 'done'],
    ])
    expect(calls[0]).toMatchObject({ error: { code: 'overloaded' } })
    expect(calls[2]).toMatchObject({ request: { messages: [{ role: 'user' }] }, transcriptLength: 1 })
    expect(calls[3]).toMatchObject({ name: 'echo', arguments: '{"say":"one"}', content: 'one' })
    expect(calls[5]).toMatchObject({ text: 'That is all.', reply: { finish: 'stop' } })
    for (const call of calls) expect(call.endIndex).toBeGreaterThan(call.index)
  })

  it('shows two calls of a step as parallel', async () => {
    const { events } = await recorded(twoTools)
    const [first, second] = folded(events).calls.filter(({ kind }) => kind === 'tool')
    expect(second?.index).toBeLessThan(first?.endIndex ?? 0)
  })

  it('has what the limits have counted, what they warned of, and what ends the run', async () => {
    const same = { calls: [{ name: 'echo', arguments: { say: 'again' } }] }
    const { events, outcome } = await recorded([same, same, same, 'I give up.'])
    const { gauges, warnings, verdict } = folded(events)
    expect(gauges).toContainEqual(
      expect.objectContaining({ limit: 'repeats', used: 3, warn: 2, conclude: 3 }),
    )
    expect(warnings[0]).toMatchObject({ limit: 'repeats', reaction: 'warn' })
    expect(verdict).toEqual(outcome.status === 'done' && outcome.stoppedBy)
  })

  it('knows what a person has to decide', async () => {
    const { events } = await recorded([{ calls: [{ name: 'guarded', arguments: { say: 'x' }, id: 'g' }] }])
    expect(folded(events)).toMatchObject({
      phase: 'waiting',
      state: 'awaitingApproval',
      outcome: { approvals: [{ callId: 'g', name: 'guarded' }] },
    })
  })
})

describe('the view of a run, event by event', () => {
  const at = 1000
  const started = { type: 'run.started', runId: 'r', at, resumed: false, state: 'thinking.calling' } as const
  const call = { runId: 'r', place: 'model.1.1', closing: false } as const
  const view = (...events: readonly AgentEvent[]) => folded(numbered(events))

  it('shows text as it comes, and takes it back where it is void', () => {
    const begun: readonly AgentEvent[] = [
      started,
      { type: 'model.started', at, ...call },
      { type: 'model.delta', at, ...call, text: 'Hel' },
      { type: 'model.delta', at, ...call, text: 'lo' },
    ]
    expect(view(...begun).calls).toMatchObject([{ text: 'Hello', isVoid: false }])
    const reset: AgentEvent = { type: 'model.reset', at, ...call }
    expect(view(...begun, reset).calls).toMatchObject([{ text: 'Hello', isVoid: true }])
    const again: AgentEvent = { type: 'model.delta', at, ...call, text: 'Good day' }
    expect(view(...begun, reset, again).calls).toMatchObject([{ text: 'Good day', isVoid: false }])
  })

  it('keeps what a tool tells while it is at work', () => {
    const tool = { runId: 'r', place: 'tool.1.0', callId: 'c', name: 't' } as const
    const { calls } = view(
      started,
      { type: 'tool.started', at, ...tool, arguments: '{}' },
      { type: 'tool.progress', at, ...tool, progress: 'a third' },
      { type: 'tool.retried', at, ...tool, failures: 1, delayMs: 5, message: 'no' },
      { type: 'tool.progress', at, ...tool, progress: 'half' },
    )
    expect(calls).toMatchObject([
      {
        progress: 'half',
        progressCount: 2,
        retries: [{ failures: 1, delayMs: 5, message: 'no' }],
        status: 'running',
      },
    ])
  })

  it('leaves out the time in which nobody was at work on the run', () => {
    const resumed = { ...started, resumed: true }
    const stopped = view(started, { type: 'message.received', runId: 'r', at: at + 50, message: user('a') })
    expect(elapsedOf(stopped)).toBe(50)
    const later = withEvent(stopped, { index: 2, event: { ...resumed, at: at + 90_000 } })
    expect(elapsedOf(later)).toBe(50)
    expect(later.idleMs).toBe(90_000 - 50)
  })

  it('never lets time go back, whatever the clocks of several processes say', () => {
    const later = view({ ...started, at }, { ...started, resumed: true, at: at - 500 })
    expect(later.at).toBe(at)
    expect(elapsedOf(later)).toBe(0)
  })

  it('begins the transcript anew where a run goes on, and gives up the calls of the process that has gone', () => {
    const appended: AgentEvent = { type: 'messages.appended', runId: 'r', at, messages: [user('a')] }
    const { transcript, calls } = view(
      started,
      appended,
      { type: 'model.started', at, ...call },
      { ...started, resumed: true },
      appended,
    )
    expect(transcript).toEqual([user('a')])
    expect(calls).toMatchObject([{ status: 'failed', endIndex: 3 }])
  })

  it('tells messages that the model has not read from those that it has', () => {
    const received: AgentEvent = { type: 'message.received', runId: 'r', at, message: user('Hurry.') }
    expect(view(started, received).unread).toEqual([user('Hurry.')])
    const appended: AgentEvent = { type: 'messages.appended', runId: 'r', at, messages: [user('Hurry.')] }
    expect(view(started, received, appended)).toMatchObject({ unread: [], transcript: [user('Hurry.')] })
  })

  it('passes over events of which it knows nothing, and ends of calls whose beginning was dropped', () => {
    const unknown = { type: 'run.dreamt', runId: 'r', at: at + 5 } as unknown as AgentEvent
    const orphan: AgentEvent = { type: 'model.delta', at: at + 6, ...call, text: 'x' }
    expect(view(started, unknown, orphan)).toMatchObject({ calls: [], at: at + 6, state: 'thinking.calling' })
  })
})

describe('the states that are entered', () => {
  it('are those of the machine', () => {
    const { states } = createAgentMachine()
    const composite = Object.values(states).filter(({ initial }) => initial.target.length > 0)
    expect(composite.map(({ key }) => key).toSorted()).toEqual(['concluding', 'observing', 'thinking'])
    for (const { key, initial } of composite) {
      expect(enteredWith(key)).toBe(initial.target[0]?.path.join('.'))
    }
    expect(enteredWith('parsing')).toBe('parsing')
  })
})

describe('the last move', () => {
  it('is what set the machine off and all that followed by itself', () => {
    const edge = (from: string, event: string) => ({ from, event, index: 0 })
    const trail = [
      edge('a', 'tool done'),
      edge('b', 'model done'),
      edge('parsing', 'always'),
      edge('c', 'always'),
    ]
    expect(lastMove(trail)).toEqual(trail.slice(1))
    expect(lastMove(trail.slice(2))).toEqual(trail.slice(2))
    expect(lastMove([])).toEqual([])
  })
})

function user(content: string) {
  return { role: 'user', content } as const
}
