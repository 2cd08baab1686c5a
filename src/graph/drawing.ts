import type { AnyStateMachine, AnyStateNode } from 'xstate'
import { stateName } from '../machines/edgeNames.ts'
import {
  type Attributes,
  edgeStatement,
  FONT,
  indented,
  linesLabel,
  nameLabel,
  nodeStatement,
  noteLabel,
  sideBySide,
  statement,
  subgraph,
} from './dotSyntax.ts'
import { brokenName, DrawingIds, dotString, wrapped } from './dotText.ts'
import { type Edge, type StateEdge, stateEdgesOf } from './edges.ts'
import { type Notes, notesByState } from './notes.ts'
import {
  childrenOf,
  enteredWith,
  entryFrom,
  isComposite,
  leafOf,
  leavesFromWithin,
  statesOf,
} from './states.ts'

/** A state or an edge in a drawing. */
interface Drawn {
  /** The id of its element. */
  readonly id: string
  /** All that there is to say of it, in one line. */
  readonly title: string
}

export interface DrawnState extends Drawn {
  /** As events name it, such as `thinking.calling`. */
  readonly name: string
}

export interface DrawnEdge extends Drawn {
  readonly edge: Edge
}

/**
 * A machine in Graphviz's language. Graphviz finds the cycles from the first box on, in the order in which the boxes are
 * declared, and turns the edges that close them upwards. So the states come first, as they were written, and what marks
 * where a state begins comes after them.
 */
export class Drawing {
  readonly states: readonly DrawnState[]
  readonly edges: readonly DrawnEdge[]
  readonly #root: AnyStateNode
  readonly #showsDescriptions: boolean
  readonly #notes: ReadonlyMap<AnyStateNode, readonly string[]>
  readonly #ids = new DrawingIds()
  readonly #idByState = new Map<AnyStateNode, string>()
  /** Boxes for whatever is active within a composite state. */
  readonly #anyStates = new Map<AnyStateNode, string>()
  readonly #edgeLines: readonly string[]
  readonly #beginnings: string[] = []

  constructor(machine: AnyStateMachine, notes: Notes, showsDescriptions: boolean) {
    this.#root = machine.root
    this.#showsDescriptions = showsDescriptions
    this.#notes = notesByState(machine, notes)
    const states = statesOf(machine)
    this.states = (states.length === 0 ? [machine.root] : states).map((state) => {
      const name = stateName(state)
      const id = this.#ids.claim('state', name)
      this.#idByState.set(state, id)
      return { id, name, title: state.description === undefined ? name : `${name}: ${state.description}` }
    })
    const stateEdges = stateEdgesOf(machine)
    this.edges = stateEdges.map(({ edge }) => ({ id: this.#edgeId(edge), title: edgeTitle(edge), edge }))
    this.#edgeLines = stateEdges.map((stateEdge, i) => this.#edgeLine(stateEdge, this.edges[i]?.id ?? ''))
  }

  dot(): string {
    const boxes = this.#inside(this.#root)
    const lines = [...defaults, ...boxes, ...this.#edgeLines, ...this.#beginnings]
    return [`digraph ${dotString(this.#root.id)} {`, ...indented(lines), '}'].join('\n')
  }

  /** The boxes within a composite state, or within the drawing. */
  #inside(block: AnyStateNode): readonly string[] {
    const states = isComposite(block) ? childrenOf(block) : [block]
    const anyState = this.#anyStates.get(block)
    return [
      ...states.flatMap((state) => (isComposite(state) ? this.#cluster(state) : this.#box(state))),
      ...(anyState === undefined
        ? []
        : [
            nodeStatement(anyState, {
              class: 'any',
              label: nameLabel('any state', []),
              style: 'rounded,dashed',
            }),
          ]),
      ...enteredWith(block).flatMap((state) => this.#beginning(state)),
    ]
  }

  #cluster(state: AnyStateNode): readonly string[] {
    const isParallel = state.type === 'parallel'
    const name = isParallel ? `${state.key} (parallel)` : state.key
    const attributes = {
      id: this.#idOf(state),
      class: classNames('state composite', isParallel && 'parallel'),
      label: nameLabel(name, this.#description(state, CLUSTER_WIDTH)),
      style: isParallel ? 'rounded,dashed' : 'rounded',
    }
    return subgraph(this.#clusterOf(state), attributes, this.#inside(state))
  }

  #box(state: AnyStateNode): readonly string[] {
    const { key, type, history } = state
    const name = type === 'history' ? `${key} (${history === 'deep' ? 'H*' : 'H'})` : key
    const box = nodeStatement(this.#idOf(state), {
      class: classNames(
        'state',
        isTransient(state) && 'transient',
        type === 'final' && 'final',
        type === 'history' && 'history',
      ),
      label: nameLabel(name, this.#description(state, BOX_WIDTH)),
      ...(type === 'final' ? { peripheries: 2 } : {}),
    })
    return [box, ...this.#note(state)]
  }

  #note(state: AnyStateNode): readonly string[] {
    const lines = this.#notes.get(state)
    if (lines === undefined) return []
    const id = this.#ids.claim('note', stateName(state))
    const label = noteLabel(lines)
    return [
      nodeStatement(id, {
        class: 'note',
        label,
        shape: 'note',
        style: 'solid',
        fontname: FONT,
        fontsize: 10,
      }),
      sideBySide(this.#idOf(state), id),
      edgeStatement(this.#idOf(state), id, { class: 'note', style: 'dotted', arrowhead: 'none' }),
    ]
  }

  /** The dot from which an arrow leads to the state that is entered first. */
  #beginning(entered: AnyStateNode): readonly string[] {
    const id = this.#ids.claim('initial', stateName(entered))
    this.#beginnings.push(
      edgeStatement(id, this.#idOf(leafOf(entered)), { class: 'initial', ...this.#cutAt('lhead', entered) }),
    )
    return [
      nodeStatement(id, { class: 'initial', label: '', shape: 'point', width: 0.1 }),
      ...(isComposite(entered) ? [] : [sideBySide(id, this.#idOf(entered))]),
    ]
  }

  #edgeLine({ source, target, edge }: StateEdge, id: string): string {
    const isWithin = leavesFromWithin(source, target)
    const tail = isWithin ? this.#anyState(source) : this.#idOf(leafOf(source))
    const entered = target === undefined ? undefined : entryFrom(source, target)
    const head = entered === undefined ? tail : this.#idOf(leafOf(entered))
    return edgeStatement(tail, head, {
      id,
      class: classNames(
        edge.event === 'always' && 'always',
        edge.guard !== undefined && 'guarded',
        target === undefined && 'stays',
      ),
      label: linesLabel(tail === head ? edgeLabel(edge).map(spaced) : edgeLabel(edge)),
      ...(isWithin ? {} : this.#cutAt('ltail', source)),
      ...(entered === undefined ? {} : this.#cutAt('lhead', entered)),
    })
  }

  /** Graphviz draws edges between boxes only, and cuts them where the cluster is that is meant. */
  #cutAt(end: 'lhead' | 'ltail', state: AnyStateNode): Attributes {
    return isComposite(state) ? { [end]: this.#clusterOf(state) } : {}
  }

  #description({ description }: AnyStateNode, width: number): readonly string[] {
    return description === undefined || !this.#showsDescriptions ? [] : wrapped(description, width)
  }

  #anyState(composite: AnyStateNode): string {
    const id = this.#anyStates.get(composite) ?? this.#ids.claim('any', stateName(composite))
    this.#anyStates.set(composite, id)
    return id
  }

  #edgeId({ from, event, guard, to }: Edge): string {
    return this.#ids.claim('edge', ...[from, event, guard, to].filter((word) => word !== undefined))
  }

  #clusterOf(state: AnyStateNode): string {
    return `cluster_${this.#idOf(state)}`
  }

  #idOf(state: AnyStateNode): string {
    const id = this.#idByState.get(state)
    if (id === undefined) throw new Error(`The state "${state.id}" has no place in the drawing.`)
    return id
  }
}

/** In letters. */
const BOX_WIDTH = 30
const CLUSTER_WIDTH = 50

const BOLD = `${FONT}-Bold`

const defaults: readonly string[] = [
  // Without newrank, Graphviz cannot place boxes of two clusters that lead to each other both ways.
  statement('graph', {
    class: 'chart',
    fontname: BOLD,
    fontsize: 13,
    compound: true,
    newrank: true,
    nodesep: 0.12,
    ranksep: 0.4,
  }),
  statement('node', {
    fontname: BOLD,
    fontsize: 13,
    shape: 'box',
    style: 'rounded',
    margin: '0.14,0.05',
    height: 0.3,
  }),
  statement('edge', { fontname: FONT, fontsize: 11, arrowsize: 0.7 }),
]

/** Whether a state is left as soon as it is entered, whatever its guards say. */
function isTransient({ always = [] }: AnyStateNode): boolean {
  return always.some(({ guard, target }) => guard === undefined && target !== undefined)
}

/** Short lines, since the labels are what makes a drawing wide. */
function edgeLabel({ event, guard }: Edge): readonly string[] {
  if (guard === undefined) return [event]
  const condition = brokenName(`[${guard}]`)
  return event === 'always' ? condition : [event, ...condition]
}

/** Loops of the same state are drawn around each other's labels, with no room between. */
function spaced(line: string): string {
  return `\u00a0${line}\u00a0`
}

function edgeTitle({ from, to, label }: Edge): string {
  return `${to === undefined ? from : `${from} → ${to}`}: ${label}`
}

function classNames(...names: readonly (string | false)[]): string {
  return names.filter((name) => name !== false).join(' ')
}
