import { describe, expect, it } from 'vitest'
import { type AnyStateNode, transition } from 'xstate'
import { getShortestPaths } from 'xstate/graph'
import { findViolations } from '../../src/index.ts'
import { createAgentMachine, resolveSettings } from '../../src/machines/index.ts'
import { isBelow, measureOf } from './measure.ts'
import { perform } from './performing.ts'
import { ScriptedActor, transitionId } from './scriptedActor.ts'
import { type Bounds, base, type SpecEvent, type SpecMachine, specOf } from './specModel.ts'

interface Suite {
  readonly name: string
  readonly bounds: Bounds
  /** Every event that the world can send, with every value that makes a difference. */
  readonly events: readonly SpecEvent[]
  /** Every sequence of events up to this length is tried; longer ones only where they reach a new state. */
  readonly depth: number
  /** How many paths there are at least, so that a spec that is broken does not pass by trying none. */
  readonly paths: number
}

/** Thousands of paths take a while on a machine that has other work. */
const TIMEOUT_MS = 180_000

const one: SpecEvent = { type: 'CALLS', count: 1 }
const tool = (position: 0 | 1 | 2, ok: boolean): SpecEvent => ({ type: 'TOOL', position, ok })

const deciding: readonly SpecEvent[] = [
  { type: 'ANSWER' },
  { type: 'CALLS_OF_BOTH_KINDS' },
  { type: 'CALL_NEEDING_APPROVAL' },
  tool(0, true),
  tool(0, false),
  tool(1, true),
  tool(1, false),
  { type: 'APPROVE' },
  { type: 'REJECT' },
  { type: 'CANCEL' },
]

const suites: readonly Suite[] = [
  {
    name: 'replies, calls and failures',
    bounds: base,
    depth: 7,
    paths: 800,
    events: [
      { type: 'ANSWER' },
      { type: 'EMPTY' },
      { type: 'REFUSED' },
      one,
      { type: 'CALLS_CUT_OFF' },
      { type: 'BUSY' },
      { type: 'FAIL' },
      { type: 'SLEPT' },
      tool(0, true),
      tool(0, false),
      { type: 'CANCEL' },
    ],
  },
  {
    name: 'messages from outside and deadlines',
    bounds: { ...base, timed: true, steps: 2 },
    depth: 4,
    paths: 300,
    events: [
      { type: 'ANSWER' },
      { type: 'EMPTY' },
      one,
      { type: 'CALL_NEEDING_APPROVAL' },
      { type: 'APPROVE' },
      tool(0, true),
      tool(0, false),
      { type: 'BUSY' },
      { type: 'SLEPT' },
      { type: 'SEND' },
      { type: 'SHORT_OF_TIME' },
      { type: 'OUT_OF_TIME' },
      { type: 'CLOCK_BREAKS' },
      { type: 'CANCEL' },
    ],
  },
  {
    name: 'calls in parallel, and the limit of tool calls that they jump over',
    bounds: { ...base, toolCalls: 3 },
    depth: 8,
    paths: 400,
    events: [
      { type: 'ANSWER' },
      one,
      { type: 'CALLS', count: 2 },
      { type: 'CALLS', count: 3 },
      tool(0, true),
      tool(0, false),
      tool(1, true),
      tool(1, false),
      tool(2, true),
    ],
  },
  {
    name: 'a person who decides',
    bounds: { ...base, steps: 2 },
    depth: 6,
    paths: 100,
    events: deciding,
  },
  {
    name: 'calls that run while others wait for a person',
    bounds: { ...base, runApprovedFirst: true, steps: 2 },
    depth: 6,
    paths: 100,
    events: deciding,
  },
  {
    name: 'a memory that makes room',
    bounds: { ...base, isOverBudget: (step) => step !== 2 },
    depth: 7,
    paths: 200,
    events: [
      { type: 'ANSWER' },
      { type: 'EMPTY' },
      one,
      { type: 'CALLS_CUT_OFF' },
      tool(0, true),
      tool(0, false),
      { type: 'TOO_LONG' },
      { type: 'COMPACTED' },
      { type: 'COMPACTION_FAILED' },
      { type: 'EXHAUSTED' },
    ],
  },
]

const stateOf: Readonly<Record<string, unknown>> = {
  calling: { thinking: 'calling' },
  backingOff: { thinking: 'backingOff' },
  compacting: { observing: 'compacting' },
  asking: { concluding: 'calling' },
  concludingBackingOff: { concluding: 'backingOff' },
}

const closingStates = {
  asking: 'asking',
  backingOff: 'concludingBackingOff',
  compacting: 'compacting',
} as const

/** The state of the real machine that a state of the spec stands for. */
function expectedState({ value }: SpecSnapshot): unknown {
  const name = typeof value === 'string' ? value : closingStates[value.concluding]
  return stateOf[name] ?? name
}

type SpecSnapshot = ReturnType<SpecMachine['transition']>
const taken = new Set<string>()

/** Drives the real machine along a path of the spec and compares the two after each event. */
async function follow(path: readonly SpecEvent[], start: SpecSnapshot, spec: SpecMachine, bounds: Bounds) {
  const { modelRetries, timed, runApprovedFirst, isOverBudget, ...counts } = bounds
  const off = Number.POSITIVE_INFINITY
  const limits = { ...counts, repeats: off, stagnation: off, time: timed ? 10_000 : off }
  const real = new ScriptedActor(resolveSettings({ limits, modelRetries, runApprovedFirst }), isOverBudget)
  let expected = start
  let measure = measureOf(real.snapshot.context)
  let asked = real.asked
  let sent = 0
  const story: string[] = []
  for (const event of path) {
    ;[expected] = transition(spec, expected, event)
    story.push(JSON.stringify(event))
    if (event.type === 'SEND') sent++
    await perform(real, event)
    const { value, context, status, output } = real.snapshot
    const told = story.join(' → ')
    expect(value, told).toEqual(expectedState(expected))
    const request = context.transcript.toArray()
    if (context.calls.length === 0) expect(findViolations(request), told).toEqual([])
    const questions = request.filter(({ role }) => role === 'user').length
    expect(questions + context.sent.length, `${told}: messages of the user`).toBe(1 + sent)
    // Whoever asks the model again has less left than the last time.
    const now = measureOf(context)
    if (real.asked > asked) expect(isBelow(now, measure), `${told}: ${measure} → ${now}`).toBe(true)
    if (real.asked > asked) measure = now
    asked = real.asked
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
      if (output.stoppedBy !== undefined) expect(output.partial, told).toMatch(/./)
    } else if (output?.status === 'done') {
      expect(output.output, told).not.toBe('')
    }
    expect(real.open.size, `${told}: effects are left running`).toBe(0)
  }
  for (const edge of real.taken) taken.add(edge)
  real.actor.stop()
}

describe.each(suites)(
  'the machine does what the spec says, with $name,',
  { timeout: 120_000 },
  ({ bounds, events, depth, paths: least }) => {
    const spec = specOf(bounds)
    const canHappen = (snapshot: SpecSnapshot): readonly SpecEvent[] =>
      snapshot.status === 'active' ? events.filter((event) => snapshot.can(event)) : []
    const shortest = getShortestPaths(spec, { events: canHappen })
    const start = shortest[0]?.steps[0]?.state as SpecSnapshot
    const eventsOf = (path: (typeof shortest)[number]): SpecEvent[] =>
      path.steps
        .map(({ event }) => event as SpecEvent)
        .filter((event) => events.some(({ type }) => type === event.type))

    it('on the shortest path to every state, followed by every event that can happen there', {
      timeout: TIMEOUT_MS,
    }, async () => {
      const found = shortest.flatMap((path) => {
        const steps = eventsOf(path)
        const next = canHappen(path.state as SpecSnapshot)
        return next.length === 0 ? [steps] : next.map((event) => [...steps, event])
      })
      expect(found.length).toBeGreaterThan(50)
      for (const path of found) await follow(path, start, spec, bounds)
    })

    it(`on every path of ${depth} events`, { timeout: TIMEOUT_MS }, async () => {
      const found: SpecEvent[][] = []
      const explore = (snapshot: SpecSnapshot, path: SpecEvent[]): void => {
        const next = canHappen(snapshot)
        if (path.length === depth || next.length === 0) {
          found.push(path)
          return
        }
        for (const event of next) explore(transition(spec, snapshot, event)[0], [...path, event])
      }
      explore(start, [])
      expect(found.length).toBeGreaterThan(least)
      for (const path of found) await follow(path, start, spec, bounds)
    })
  },
)

it('every edge of the chart is taken by these paths', () => {
  const edges: string[] = []
  const walk = (node: AnyStateNode): void => {
    for (const candidates of node.transitions.values())
      for (const edge of candidates) edges.push(transitionId(edge))
    for (const edge of node.always ?? []) edges.push(transitionId(edge))
    for (const child of Object.values(node.states)) walk(child)
  }
  walk(createAgentMachine().root)
  expect(edges.filter((edge) => !taken.has(edge))).toEqual([])
})
