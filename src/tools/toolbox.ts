import { MisuseError } from '../errors.ts'
import type { Message, ToolSpec } from '../messages/types.ts'
import { hush } from '../thenables.ts'
import { specsOf, toolsByName } from './registry.ts'
import type { StepFacts, Tool } from './tool.ts'

/** The tools of one step: to run them, and to tell the model of them. */
export interface ToolSet {
  readonly byName: ReadonlyMap<string, Tool>
  readonly specs: readonly ToolSpec[]
  /** Whether this step's set may differ from another's. */
  readonly chosen: boolean
}

/** The tools of one run. */
export interface RunTools {
  /** @param transcript The conversation when the model was asked, without the system message. */
  at(step: number, transcript: () => readonly Message[]): ToolSet
}

/** The tools that an agent is given: a list, or a function that decides for each step. */
export type ToolsOption = readonly Tool[] | ((facts: StepFacts) => readonly Tool[])

/** An agent's tools, which may come and go while it lives. A run keeps the set that it started with. */
export class Toolbox {
  readonly #choose: ((facts: StepFacts) => readonly Tool[]) | undefined
  #tools: ReadonlyMap<string, Tool>
  #shared: RunTools | undefined

  constructor(tools: ToolsOption) {
    this.#choose = typeof tools === 'function' ? tools : undefined
    this.#tools = toolsByName(typeof tools === 'function' ? [] : tools)
  }

  /** What an agent would be given to have the same tools. */
  get given(): ToolsOption {
    return this.#choose ?? [...this.#tools.values()]
  }

  get names(): readonly string[] {
    return [...this.#tools.keys()]
  }

  /** What the model is told of the tools that are listed; nothing where a function decides. */
  get specs(): readonly ToolSpec[] {
    this.#shared ??= sharedTools(this.#tools)
    return this.#shared.at(0, () => []).specs
  }

  /** @throws MisuseError `duplicate_tool`, or `tools_chosen` where a function decides which tools there are. */
  add(tool: Tool): void {
    this.#requireList()
    this.#tools = toolsByName([...this.#tools.values(), tool])
    this.#shared = undefined
  }

  /** Whether there was such a tool. */
  remove(name: string): boolean {
    this.#requireList()
    const kept = [...this.#tools.values()].filter((tool) => tool.name !== name)
    const existed = kept.length < this.#tools.size
    this.#tools = toolsByName(kept)
    this.#shared = undefined
    return existed
  }

  /** The tools for a run that starts now. Runs can share a set that does not change from step to step. */
  forRun(): RunTools {
    const tools = this.#tools
    const choose = this.#choose
    if (choose !== undefined) return new ChosenTools((facts) => toolsByName(choose(facts)))
    if ([...tools.values()].some(({ onlyWhen }) => onlyWhen !== undefined))
      return new ChosenTools(() => tools)
    this.#shared ??= sharedTools(tools)
    return this.#shared
  }

  #requireList(): void {
    if (this.#choose === undefined) return
    throw new MisuseError(
      'tools_chosen',
      'The tools of this agent are chosen by a function for each step: let it return others.',
    )
  }
}

function sharedTools(tools: ReadonlyMap<string, Tool>): RunTools {
  const set: ToolSet = { byName: tools, specs: specsOf(tools), chosen: false }
  return { at: () => set }
}

/** Decides once for each step, so that what runs is what was offered. */
class ChosenTools implements RunTools {
  readonly #choose: (facts: StepFacts) => ReadonlyMap<string, Tool>
  #last: { readonly step: number; readonly set: ToolSet } | undefined

  constructor(choose: (facts: StepFacts) => ReadonlyMap<string, Tool>) {
    this.#choose = choose
  }

  at(step: number, transcript: () => readonly Message[]): ToolSet {
    if (this.#last?.step === step) return this.#last.set
    const facts: StepFacts = { step, transcript: transcript() }
    const offered = [...this.#choose(facts)].filter(([, tool]) => {
      const answer: unknown = tool.onlyWhen?.(facts)
      hush(answer)
      return answer !== false
    })
    const byName = new Map(offered)
    const set: ToolSet = { byName, specs: specsOf(byName), chosen: true }
    this.#last = { step, set }
    return set
  }
}
