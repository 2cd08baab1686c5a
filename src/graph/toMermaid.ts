import type { AnyStateMachine, AnyStateNode } from 'xstate'
import { type StateEdge, stateEdgesOf } from './edges.ts'
import { MermaidIds, mermaidText } from './mermaidText.ts'
import { type Notes, notesByState } from './notes.ts'
import { childrenOf, enteredWith, entryFrom, isComposite, leavesFromWithin, statesOf } from './states.ts'

export interface MermaidOptions {
  /**
   * Notes beside states: lines of text, by the state's name such as `thinking.calling`. Mermaid cannot put a note
   * beside a state that has states within it; such a note is put beside the one that is entered first. Default: none.
   */
  readonly notes?: Notes
}

/**
 * Draws any XState machine as a Mermaid `stateDiagram-v2`: all states with their descriptions, all edges. An edge that
 * a composite state has for whatever is active within it leaves from a box called "any state". Where the history of a
 * history state leads when there is none yet is not drawn.
 *
 * @throws MisuseError `unknown_state` for a note beside a state that the machine does not have.
 */
export function toMermaid(machine: AnyStateMachine, { notes = {} }: MermaidOptions = {}): string {
  const drawing = new Drawing(machine, notes)
  return ['stateDiagram-v2', ...indented(drawing.inside(machine.root))].join('\n')
}

/** A place where an edge can begin or end, and the composite state whose block declares it. */
interface Place {
  readonly id: string
  readonly block: AnyStateNode
}

interface Line {
  readonly block: AnyStateNode
  readonly text: string
}

class Drawing {
  readonly #root: AnyStateNode
  readonly #ids = new MermaidIds()
  readonly #places = new Map<AnyStateNode, Place>()
  /** For edges that hold whichever state within a composite state is active. */
  readonly #anyStates = new Map<AnyStateNode, Place>()
  readonly #notes: ReadonlyMap<AnyStateNode, readonly string[]>
  readonly #edges: readonly Line[]

  constructor(machine: AnyStateMachine, notes: Notes) {
    this.#root = machine.root
    const states = statesOf(machine)
    for (const state of states.length === 0 ? [this.#root] : states) {
      const id = this.#ids.claim(state.path.join('_') || state.key)
      this.#places.set(state, { id, block: state.parent ?? this.#root })
    }
    this.#notes = notesByState(machine, notes)
    this.#edges = stateEdgesOf(machine).map((edge) => this.#edgeLine(edge))
  }

  /** The lines within the block of a composite state, or of the diagram. */
  inside(block: AnyStateNode): readonly string[] {
    const states = isComposite(block) ? childrenOf(block) : [block]
    const anyState = this.#anyStates.get(block)
    return [
      ...enteredWith(block).map((state) => `[*] --> ${this.#place(state).id}`),
      ...states.flatMap((state) => this.#declaration(state)),
      ...(anyState === undefined ? [] : [`state "any state" as ${anyState.id}`]),
      ...this.#edges.filter((edge) => edge.block === block).map(({ text }) => text),
      ...states.filter(({ type }) => type === 'final').map((state) => `${this.#place(state).id} --> [*]`),
    ]
  }

  #declaration(state: AnyStateNode): readonly string[] {
    const { id } = this.#place(state)
    const title = titleOf(state)
    const description = mermaidText(state.description ?? '')
    if (isComposite(state)) {
      // Mermaid refuses a description of a composite state, but takes any title.
      const full = description === '' ? title : `${title} — ${description}`
      return [`state ${full === id ? id : `"${full}" as ${id}`} {`, ...indented(this.inside(state)), '}']
    }
    const name = title === id && description === '' ? id : `state "${title}" as ${id}`
    return [name, ...(description === '' ? [] : [`${id} : ${description}`]), ...this.#note(state)]
  }

  #note(state: AnyStateNode): readonly string[] {
    const lines = this.#notes.get(state)
    if (lines === undefined) return []
    return [`note right of ${this.#place(state).id}`, ...indented(lines.map(mermaidText)), 'end note']
  }

  #edgeLine({ source, target, edge }: StateEdge): Line {
    const from = leavesFromWithin(source, target) ? this.#anyState(source) : this.#place(source)
    const to = target === undefined ? from : this.#place(entryFrom(source, target))
    // Mermaid moves a state into the block of a later edge that names it, unless that is the diagram's own.
    const block = from.block === to.block ? from.block : this.#root
    return { block, text: `${from.id} --> ${to.id} : ${mermaidText(edge.label)}` }
  }

  #place(state: AnyStateNode): Place {
    const place = this.#places.get(state)
    if (place === undefined) throw new Error(`The state "${state.id}" has no place in the drawing.`)
    return place
  }

  #anyState(composite: AnyStateNode): Place {
    const known = this.#anyStates.get(composite)
    if (known !== undefined) return known
    const place = { id: this.#ids.claim([...composite.path, 'any'].join('_')), block: composite }
    this.#anyStates.set(composite, place)
    return place
  }
}

function titleOf({ key, type, history }: AnyStateNode): string {
  const title = mermaidText(key) || 'state'
  if (type === 'parallel') return `${title} (parallel)`
  if (type === 'history') return `${title} (${history === 'deep' ? 'deep history' : 'history'})`
  return title
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`)
}
