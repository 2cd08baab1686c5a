import { instance } from '@viz-js/viz'
import { describe, expect, it } from 'vitest'
import { createMachine } from 'xstate'
import { agentDot, edgesOf, toDot } from '../../src/graph/index.ts'
import { createAgentMachine } from '../../src/machines/index.ts'

/** A drawing as Graphviz itself reads it. */
interface Graph {
  readonly objects: readonly Box[]
  readonly edges: readonly Arrow[]
}

interface Box {
  readonly _gvid: number
  readonly name: string
  readonly id?: string
  readonly class?: string
  readonly label?: string
  /** Of a cluster: the boxes in it. */
  readonly nodes?: readonly number[]
}

interface Arrow {
  readonly tail: number
  readonly head: number
  readonly id?: string
  readonly class?: string
  readonly label?: string
  readonly lhead?: string
  readonly ltail?: string
}

const graphviz = await instance()

function read(dot: string): Graph {
  return graphviz.renderJSON(dot, { format: 'dot_json' }) as Graph
}

const boxOf = ({ objects }: Graph, id: string) => objects.find((box) => box.id === id)
const arrowOf = ({ edges }: Graph, label: string) => edges.find((arrow) => arrow.label === label)
const nameAt = ({ objects }: Graph, position: number | undefined) =>
  objects.find(({ _gvid }) => _gvid === position)?.name

describe('the agent in the language of Graphviz', () => {
  const graph = read(agentDot())

  it('has every edge of the machine, with its guard', () => {
    const labels = graph.edges.filter(({ id }) => id?.startsWith('edge_')).map(({ label }) => label)
    expect(labels).toHaveLength(edgesOf(createAgentMachine()).length)
    expect(labels).toContain(String.raw`model failed\n[isRetryable]`)
    expect(labels).toContain('[hasCalls]')
    expect(labels).toContain(String.raw`[context\nOverBudget]`)
  })

  it('tells transient states and ends from those that are stayed in', () => {
    expect(boxOf(graph, 'state_parsing')?.class).toBe('state transient')
    expect(boxOf(graph, 'state_observing_recording')?.class).toBe('state transient')
    expect(boxOf(graph, 'state_executingTools')?.class).toBe('state')
    expect(boxOf(graph, 'state_done')?.class).toBe('state final')
  })

  it('has the limits in a note where they are judged', () => {
    const note = boxOf(graph, 'note_observing_recording')
    expect(note?.label).toContain('steps 8 → conclude')
    const beside = graph.edges.find(({ head }) => head === note?._gvid)
    expect(nameAt(graph, beside?.tail)).toBe('state_observing_recording')
  })

  it('leaves descriptions out where they are not wanted', () => {
    expect(agentDot()).toContain('What did the model ask for?')
    expect(toDot(createAgentMachine(), { descriptions: false })).not.toContain('What did the model ask for?')
  })
})

describe('composite states in the language of Graphviz', () => {
  const graph = read(
    toDot(
      createMachine({
        initial: 'outer',
        states: {
          outer: {
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
          away: { on: { BACK: { target: '#(machine).outer' } } },
        },
      }),
    ),
  )
  const ends = (label: string) => {
    const arrow = arrowOf(graph, label)
    const [tail, head] = [arrow?.tail, arrow?.head].map((end) => nameAt(graph, end))
    return { tail, head, ltail: arrow?.ltail ?? '', lhead: arrow?.lhead ?? '' }
  }

  it('are clusters, nested as they are', () => {
    const [outer, inner] = ['state_outer', 'state_outer_inner'].map((id) => boxOf(graph, id))
    expect(outer?.class).toBe('state composite')
    expect(inner?.nodes).toContain(boxOf(graph, 'state_outer_inner_core')?._gvid)
    expect(outer?.nodes).toEqual(expect.arrayContaining([...(inner?.nodes ?? [])]))
  })

  it('are where an edge ends that leads to them or leaves them', () => {
    expect(ends('OUT')).toMatchObject({
      tail: 'state_outer_inner_core',
      ltail: 'cluster_state_outer',
      lhead: '',
    })
    expect(ends('BACK')).toMatchObject({ head: 'state_outer_inner_core', lhead: 'cluster_state_outer' })
    expect(ends('LEAVE')).toMatchObject({ tail: 'state_outer_inner_core', ltail: '' })
  })

  it('have a box for whatever is active within them, where the edges begin that do not leave them', () => {
    const stay = '\u00a0STAY\u00a0'
    expect(ends(stay)).toMatchObject({ tail: 'any_outer', head: 'any_outer' })
    expect(ends('RESET')).toMatchObject({ tail: 'any_outer', lhead: 'cluster_state_outer_inner' })
    expect(ends('SECOND')).toMatchObject({ tail: 'any_outer', head: 'state_outer_second' })
  })

  it('are never the end of an edge from within', () => {
    expect(ends('\u00a0UP\u00a0')).toMatchObject({ head: 'state_outer_inner_core', lhead: '' })
  })

  it('mark what is entered first', () => {
    const begins = graph.edges.filter((arrow) => arrow.class === 'initial')
    expect(begins.map(({ head, lhead = '' }) => [nameAt(graph, head), lhead]).toSorted()).toEqual([
      ['state_outer_inner_core', ''],
      ['state_outer_inner_core', 'cluster_state_outer'],
      ['state_outer_inner_core', 'cluster_state_outer_inner'],
    ])
  })
})

describe('other machines in the language of Graphviz', () => {
  it('show which regions run in parallel, and which state is a history', () => {
    const graph = read(
      toDot(
        createMachine({
          initial: 'both',
          states: {
            both: {
              type: 'parallel',
              states: {
                left: { initial: 'a', states: { a: {}, before: { type: 'history', history: 'deep' } } },
                right: {},
              },
            },
          },
        }),
      ),
    )
    expect(boxOf(graph, 'state_both')).toMatchObject({
      class: 'state composite parallel',
      label: 'both (parallel)',
    })
    expect(boxOf(graph, 'state_both_left_before')?.label).toBe('before (H*)')
  })

  it('may be a single state', () => {
    const graph = read(toDot(createMachine({ id: 'lone', on: { PING: {} } })))
    expect(graph.objects.map(({ id }) => id)).toEqual(['state_lone'])
    expect(graph.edges).toHaveLength(1)
  })

  it('get an id of their own for every state and edge, however much alike their names are', () => {
    const machine = createMachine({
      initial: 'a',
      states: { a: { initial: 'b', states: { b: {} }, on: { GO: 'a_b', 'G O': 'a-b' } }, a_b: {}, 'a-b': {} },
    })
    const { objects, edges } = read(toDot(machine))
    // What stands side by side is a nameless group, which Graphviz does not draw but lists with the id around it.
    const drawn = objects.filter(({ name }) => !name.startsWith('%'))
    const ids = [...drawn, ...edges].flatMap(({ id = [] }) => id)
    expect(ids).toEqual(expect.arrayContaining(['state_a_b', 'state_a_b_2', 'state_a_b_3']))
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('refuse a note beside a state that they do not have', () => {
    const machine = createMachine({ initial: 'a', states: { a: {} } })
    expect(() => toDot(machine, { notes: { b: ['?'] } })).toThrow(
      expect.objectContaining({ code: 'unknown_state', message: expect.stringContaining('States: a.') }),
    )
  })
})
