import { describe, expect, it } from 'vitest'
import { createMachine } from 'xstate'
import { toMermaid } from '../../src/graph/index.ts'
import { readMermaid } from './readMermaid.ts'

describe('names that Mermaid cannot take', () => {
  it('get an id that it takes, and stay readable as a title', () => {
    const machine = createMachine({
      initial: 'in progress',
      states: {
        'in progress': { on: { 'user:clicked #1; "now"': 'wait-for {it}' } },
        'wait-for {it}': { on: { NEXT: '等待' } },
        等待: {},
      },
    })
    const { states, edges } = readMermaid(toMermaid(machine))
    expect([...states].map(([id, { title }]) => [id, title])).toEqual([
      ['in_progress', 'in progress'],
      ['wait_for_it_', 'wait-for ｛it｝'],
      ['等待', '等待'],
    ])
    expect(edges.map(({ label }) => label)).toContain('user：clicked ＃1； ＂now＂')
  })

  it.each(['note', 'state', 'default', 'class', 'end', 'root', 'As'])(
    'do not become the keyword %s',
    (key) => {
      const { states } = readMermaid(toMermaid(createMachine({ initial: key, states: { [key]: {} } })))
      expect([...states.keys()]).toEqual([`${key}_state`])
    },
  )

  it('do not collide with each other, nor with the ids that Mermaid gives to beginnings and ends', () => {
    const machine = createMachine({
      initial: 'a',
      on: { LEAVE: '.any' },
      states: {
        a: { initial: 'b', states: { b: {}, start: {} } },
        a_b: {},
        'a-b': {},
        any: {},
      },
    })
    const { states } = readMermaid(toMermaid(machine))
    expect([...states.keys()]).toEqual(['a', 'a_b', 'a_start_state', 'a_b_2', 'a_b_3', 'any', 'any_2'])
  })

  it('do not command it from within a description', () => {
    const description = 'Goes in\ndirection LR %% here; then: end note <b>'
    const machine = createMachine({ initial: 'a', states: { a: { description } } })
    const text = toMermaid(machine, { notes: { a: [description] } })
    const { states } = readMermaid(text)
    expect(states.get('a')?.description).toBe('Goes in direction_LR ％％ here； then： end_note ＜b＞')
    expect(states.get('a')?.note).toEqual(['Goes in direction_LR ％％ here； then： end_note ＜b＞'])
  })
})

describe('composite states', () => {
  const machine = createMachine({
    initial: 'outer',
    states: {
      outer: {
        description: 'Holds the others.',
        initial: 'inner',
        on: { STAY: {}, RESET: { target: 'outer', reenter: true }, SECOND: '.second', OUT: 'away' },
        states: {
          inner: {
            initial: 'core',
            states: { core: { on: { UP: '#(machine).outer', LEAVE: '#(machine).away' } } },
          },
          second: { type: 'final' },
        },
      },
      away: { on: { BACK: { target: '#(machine).outer.inner.core' } } },
    },
  })
  const { states, edges } = readMermaid(toMermaid(machine))
  const edge = (label: string) => edges.find((drawn) => drawn.label === label)

  it('are nested, with their description in the title', () => {
    expect(states.get('outer')).toEqual({ title: 'outer — Holds the others.', block: '' })
    expect(states.get('outer_inner')?.block).toBe('outer')
    expect(states.get('outer_inner_core')?.block).toBe('outer_inner')
  })

  it('have a box for whatever is active within them, where their own edges begin', () => {
    expect(states.get('outer_any')).toEqual({ title: 'any state', block: 'outer' })
    expect(edge('STAY')).toMatchObject({ from: 'outer_any', to: 'outer_any', block: 'outer' })
    expect(edge('RESET')).toMatchObject({ from: 'outer_any', to: 'outer_inner', block: 'outer' })
    expect(edge('SECOND')).toMatchObject({ from: 'outer_any', to: 'outer_second', block: 'outer' })
    expect(edge('OUT')).toMatchObject({ from: 'outer', to: 'away', block: '' })
  })

  it('are never the end of an edge from within', () => {
    expect(edge('UP')).toMatchObject({ from: 'outer_inner_core', to: 'outer_inner_core' })
  })

  it('keep their states: an edge across blocks is written in the block of the diagram', () => {
    expect(edge('BACK')).toMatchObject({ to: 'outer_inner_core', block: '' })
    expect(edge('LEAVE')).toMatchObject({ from: 'outer_inner_core', block: '' })
  })

  it('end where their final state is', () => {
    expect(edges).toContainEqual({ from: 'outer_second', to: '[*]', label: '', block: 'outer' })
  })
})

describe('other machines', () => {
  it('show that all regions of a parallel state are entered, and which state is a history', () => {
    const machine = createMachine({
      type: 'parallel',
      states: {
        left: { initial: 'a', states: { a: {}, before: { type: 'history', history: 'deep' } } },
        right: {},
      },
    })
    const { states, edges } = readMermaid(toMermaid(machine))
    expect(edges.filter(({ block }) => block === '').map(({ to }) => to)).toEqual(['left', 'right'])
    expect(states.get('left_before')?.title).toBe('before (deep history)')
  })

  it('may be a single state', () => {
    const { states, edges } = readMermaid(toMermaid(createMachine({ id: 'lone', on: { PING: {} } })))
    expect([...states.keys()]).toEqual(['lone'])
    expect(edges).toHaveLength(1)
  })

  it('refuse a note beside a state that they do not have', () => {
    const machine = createMachine({ initial: 'a', states: { a: {} } })
    expect(() => toMermaid(machine, { notes: { b: ['?'] } })).toThrow(
      expect.objectContaining({ code: 'unknown_state', message: expect.stringContaining('States: a.') }),
    )
  })
})
