import { describe, expect, it } from 'vitest'
import { and, createMachine, fromPromise, not, setup, stateIn } from 'xstate'
import { edgesOf } from '../../src/graph/index.ts'
import { edgeName } from '../../src/machines/edgeNames.ts'
import { createAgentMachine } from '../../src/machines/index.ts'
import { PureMachine } from '../../src/runtime/pureMachine.ts'

const never = fromPromise(() => new Promise<never>(() => {}))

describe('the edges of the agent', () => {
  const edges = edgesOf(createAgentMachine())

  it('say in words what actors report', () => {
    const labels = edges.map(({ label }) => label)
    expect(labels).toContain('model done')
    expect(labels).toContain('model failed [isRetryable]')
    expect(labels).toContain('tool done')
    expect(labels).toContain('compact failed')
  })

  it('name what the transitions of a run name, so that a viewer can find them', () => {
    const pure = new PureMachine(createAgentMachine())
    const { snapshot } = pure.start('Hello?')
    const { taken } = pure.step(snapshot, { type: 'CANCEL' }, true)
    expect(taken.length).toBeGreaterThan(0)
    for (const edge of taken) expect(edges).toContainEqual(expect.objectContaining(edgeName(edge)))
  })

  it('are without a destination where they stay in their state', () => {
    const decide = edges.find(({ event }) => event === 'DECIDE')
    expect(decide).toEqual({ from: 'awaitingApproval', event: 'DECIDE', label: 'DECIDE' })
  })
})

describe('the edges of any machine', () => {
  it('include every candidate of an event, and mark the one that is left', () => {
    const machine = setup({ guards: { isLate: () => true, isEarly: () => true } }).createMachine({
      initial: 'waiting',
      states: {
        waiting: { on: { GO: [{ guard: 'isLate', target: 'b' }, { guard: 'isEarly', target: 'c' }, 'd'] } },
        b: { always: 'c' },
        c: {},
        d: {},
      },
    })
    expect(edgesOf(machine)).toEqual([
      { from: 'waiting', to: 'b', event: 'GO', guard: 'isLate', label: 'GO [isLate]' },
      { from: 'waiting', to: 'c', event: 'GO', guard: 'isEarly', label: 'GO [isEarly]' },
      { from: 'waiting', to: 'd', event: 'GO', guard: 'else', label: 'GO [else]' },
      { from: 'b', to: 'c', event: 'always', label: 'always' },
    ])
  })

  it('read well for delays, wildcards, composite completions and actors without an id', () => {
    const machine = setup({ actors: { fetchUser: never }, delays: { patience: 10 } }).createMachine({
      id: 'm',
      initial: 'work',
      states: {
        work: {
          initial: 'part',
          after: { 1500: 'end', patience: 'end' },
          invoke: [
            { src: 'fetchUser', onDone: 'end' },
            { src: never, onError: 'end' },
          ],
          on: { '*': 'end' },
          onDone: 'end',
          states: { part: { type: 'final' } },
        },
        end: {},
      },
    })
    expect(
      edgesOf(machine)
        .map(({ label }) => label)
        .toSorted(),
    ).toEqual(['actor failed', 'after 1500 ms', 'after patience', 'any event', 'fetchUser done', 'work done'])
  })

  it('spell out guards that are made of guards, and name those that have no name', () => {
    const isOpen = (): boolean => true
    const machine = createMachine({
      initial: 'a',
      states: {
        a: {
          on: {
            ONE: { guard: not('isShut'), target: 'b' },
            TWO: { guard: and(['isWarm', isOpen]), target: 'b' },
            THREE: { guard: stateIn('b'), target: 'b' },
            FOUR: {
              guard: (
                () => () =>
                  true
              )(),
              target: 'b',
            },
          },
        },
        b: {},
      },
    })
    expect(edgesOf(machine).map(({ guard }) => guard)).toEqual([
      'not isShut',
      '(isWarm and isOpen)',
      'in b',
      'guard',
    ])
  })

  it('are one for each target where a transition enters several regions', () => {
    const machine = createMachine({
      id: 'm',
      type: 'parallel',
      on: { RESET: { target: ['.left.on', '.right.on'] } },
      states: {
        left: { initial: 'on', states: { on: {} } },
        right: { initial: 'on', states: { on: {} } },
      },
    })
    expect(edgesOf(machine).map(({ from, to }) => `${from} → ${to}`)).toEqual(['m → left.on', 'm → right.on'])
  })
})
