import type { AnyStateNode } from 'xstate'
import { edgesOf } from '../../graph/edges.ts'
import { enteredWith, statesOf } from '../../graph/states.ts'
import type { AgentMachine } from '../../machines/agentMachine.ts'
import { type EdgeName, stateName } from '../../machines/edgeNames.ts'

/** The chart of an agent, with how much of it has been seen. */
export class Chart {
  readonly #root: string
  /** Whether each edge was taken. */
  readonly #edges: Map<string, boolean>
  readonly #states: Map<string, boolean>
  readonly #nodes: ReadonlyMap<string, AnyStateNode>

  constructor(machine: AgentMachine) {
    this.#root = stateName(machine.root)
    this.#edges = new Map(edgesOf(machine).map((edge) => [edgeText(edge), false]))
    this.#nodes = new Map(statesOf(machine).map((state) => [stateName(state), state]))
    this.#states = new Map([...this.#nodes.keys()].map((name) => [name, false]))
  }

  /** The edge as the chart has it, `undefined` where it has none such. */
  edge(taken: EdgeName): string | undefined {
    // An edge of the whole chart is shown to leave the state in which the run was.
    return [taken, { ...taken, from: this.#root }].map(edgeText).find((text) => this.#edges.has(text))
  }

  /** With the states around it, and those in which it begins. */
  visit(name: string): void {
    const keys = name.split('.')
    for (const i of keys.keys()) this.#states.set(keys.slice(0, i + 1).join('.'), true)
    const state = this.#nodes.get(name)
    for (const inner of state === undefined ? [] : enteredWith(state)) this.visit(stateName(inner))
  }

  take(edge: string): void {
    this.#edges.set(edge, true)
  }

  get coverage(): Coverage {
    return { states: parted(this.#states), transitions: parted(this.#edges) }
  }
}

/** What of a chart was seen. */
export interface Coverage {
  readonly states: Parted
  readonly transitions: Parted
}

export interface Parted {
  readonly covered: readonly string[]
  readonly uncovered: readonly string[]
}

function parted(seen: ReadonlyMap<string, boolean>): Parted {
  const named = (wanted: boolean) => [...seen].filter(([, was]) => was === wanted).map(([name]) => name)
  return { covered: named(true), uncovered: named(false) }
}

function edgeText({ from, to, event, guard }: EdgeName): string {
  return `${from} → ${to ?? from}: ${event}${guard === undefined ? '' : ` [${guard}]`}`
}
