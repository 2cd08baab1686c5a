import { describe, expect, it } from 'vitest'
import { type AnyStateNode, transition } from 'xstate'
import { getShortestPaths } from 'xstate/graph'
import { findViolations } from '../../src/index.ts'
import { createAgentMachine } from '../../src/machines/index.ts'
import { ScriptedActor, transitionId } from './scriptedActor.ts'
import { type SpecEvent, type SpecState, spec, specEvents } from './specModel.ts'

/** Every sequence of events up to this length is tried; longer ones only where they reach a new state. */
const DEPTH = 6

const stateOf: Record<SpecState, unknown> = {
  calling: { thinking: 'calling' },
  backingOff: { thinking: 'backingOff' },
  awaitingApproval: 'awaitingApproval',
  executingTools: 'executingTools',
  judging: undefined,
  concluding: { concluding: 'calling' },
  concludingBackingOff: { concluding: 'backingOff' },
  done: 'done',
  aborted: 'aborted',
}

type SpecSnapshot = ReturnType<typeof spec.transition>
const taken = new Set<string>()

/** Drives the real machine along a path of the spec and compares the two after each event. */
async function follow(path: readonly SpecEvent[], start: SpecSnapshot): Promise<void> {
  const real = new ScriptedActor()
  let expected = start
  const story: string[] = []
  for (const event of path) {
    ;[expected] = transition(spec, expected, event)
    story.push(JSON.stringify(event))
    await real.send(event)
    const { value, context, status, output } = real.actor.getSnapshot()
    const told = story.join(' → ')
    expect(value, told).toEqual(stateOf[expected.value])
    const request = context.transcript.toArray()
    if (context.calls.length === 0) expect(findViolations(request), told).toEqual([])
    if (expected.status !== 'done') continue
    expect(status, told).toBe('done')
    expect(output?.status, told).toBe(expected.value)
    expect(output !== undefined && 'stoppedBy' in output ? output.stoppedBy?.limit : undefined, told).toBe(
      expected.context.limit,
    )
    if (output?.status === 'aborted') {
      const reasons = { malformed: ['empty_response', 'truncated_response'] } as Record<string, string[]>
      const reason = expected.context.reason ?? ''
      expect(reasons[reason] ?? [reason], told).toContain(output.reason)
    } else if (output?.status === 'done') {
      expect(output.output, told).not.toBe('')
    }
    expect(real.open.size, `${told}: effects are left running`).toBe(0)
  }
  for (const edge of real.taken) taken.add(edge)
  real.actor.stop()
}

const canHappen = (snapshot: SpecSnapshot): readonly SpecEvent[] =>
  snapshot.status === 'active' ? specEvents.filter((event) => snapshot.can(event)) : []

const shortest = getShortestPaths(spec, { events: canHappen })
const start = shortest[0]?.steps[0]?.state as SpecSnapshot
const eventsOf = (path: (typeof shortest)[number]): SpecEvent[] =>
  path.steps
    .map(({ event }) => event as SpecEvent)
    .filter((event) => specEvents.some(({ type }) => type === event.type))

describe('the machine does what the spec says', () => {
  it('on the shortest path to every state, followed by every event that can happen there', async () => {
    const paths = shortest.flatMap((path) => {
      const events = eventsOf(path)
      const next = canHappen(path.state as SpecSnapshot)
      return next.length === 0 ? [events] : next.map((event) => [...events, event])
    })
    expect(paths.length).toBeGreaterThan(200)
    for (const path of paths) await follow(path, start)
  })

  it(`on every path of ${DEPTH} events`, async () => {
    const paths: SpecEvent[][] = []
    const explore = (snapshot: SpecSnapshot, path: SpecEvent[]): void => {
      const next = canHappen(snapshot)
      if (path.length === DEPTH || next.length === 0) {
        paths.push(path)
        return
      }
      for (const event of next) explore(transition(spec, snapshot, event)[0], [...path, event])
    }
    explore(start, [])
    expect(paths.length).toBeGreaterThan(2000)
    for (const path of paths) await follow(path, start)
  })

  it('over every edge of the chart but those of compaction and of approvals that run beside calls', () => {
    const edges: string[] = []
    const walk = (node: AnyStateNode): void => {
      for (const candidates of node.transitions.values())
        for (const edge of candidates) edges.push(transitionId(edge))
      for (const edge of node.always ?? []) edges.push(transitionId(edge))
      for (const child of Object.values(node.states)) walk(child)
    }
    walk(createAgentMachine().root)
    const missed = edges.filter((edge) => !taken.has(edge))
    expect(
      missed.filter((edge) => !/compacting|onlyApprovalsLeft|executingTools --DECIDE/.test(edge)),
    ).toEqual([])
  })
})
