import { AsyncLocalStorage } from 'node:async_hooks'
import { type Agent, createAgent } from '../../agent.ts'
import { LoopchartError, MisuseError } from '../../errors.ts'
import type { Journal } from '../../journal/entry.ts'
import type { Memory } from '../../memory/memory.ts'
import type { ModelReply } from '../../messages/reply.ts'
import type { Model, ModelIO, ModelRequest } from '../../models/model.ts'
import type { Tool, ToolContext } from '../../tools/tool.ts'
import type { ToolsOption } from '../../tools/toolbox.ts'
import { scribe } from '../scribe.ts'

/** Who plays the model and the tools of one run, and keeps its journal. */
export interface Player {
  readonly journal: Journal
  answer(request: ModelRequest, io: ModelIO): Promise<ModelReply>
  run(tool: Tool, context: ToolContext): Promise<unknown>
}

/** An agent that is the user's own in everything but what leaves the process. */
export interface AgentDouble<Output> {
  readonly agent: Agent<Output>
  /** The tool of this name, as the agent was last given it. */
  toolNamed(name: string): Tool | undefined
  /** Does some work whose runs are played by this player. */
  played<Result>(by: Player, work: () => Result): Result
}

/**
 * The double of an agent. Its instructions, memory, limits, form of the answer, schemas and approval rules are the
 * agent's own; its model, what its tools do, and its journal are played.
 *
 * @param hasResults Whether what a tool's `run` gives back is made by the user, so that its own `render` can show it.
 * @throws MisuseError `invalid_agent` for what is no agent.
 */
export function doubleOf<Output>(
  agent: Agent<Output>,
  hasResults: (name: string) => boolean,
): AgentDouble<Output> {
  if (typeof agent?.options?.model?.generate !== 'function') {
    throw new MisuseError('invalid_agent', 'The first argument must be an agent, as createAgent gives it.')
  }
  const players = new AsyncLocalStorage<Player>()
  const tools = new Map<string, Tool>()
  const player = (): Player => {
    const playing = players.getStore()
    if (playing === undefined)
      throw new LoopchartError('not_played', 'The double of an agent runs only when it is played.')
    return playing
  }
  const stub = (tool: Tool): Tool => {
    tools.set(tool.name, tool)
    const { render, ...rest } = tool
    return {
      ...rest,
      ...(render !== undefined && hasResults(tool.name) ? { render } : {}),
      run: (_args, context) => player().run(tool, context),
    }
  }
  // Whatever else the model tells of itself (its context window) holds for its double.
  const model: Model = { ...agent.options.model, generate: (request, io) => player().answer(request, io) }
  const { redact: _redact, ...options } = agent.options
  return {
    agent: createAgent<Output>({
      ...options,
      model,
      ...(options.memory === undefined ? {} : { memory: withScribe(options.memory) }),
      tools: stubbed(options.tools ?? [], stub),
      journal: {
        append: (...args) => player().journal.append(...args),
        load: (...args) => player().journal.load(...args),
        list: (...args) => player().journal.list(...args),
        prune: (...args) => player().journal.prune(...args),
        lease: (...args) => player().journal.lease(...args),
        release: (...args) => player().journal.release(...args),
      },
    }),
    toolNamed: (name) => tools.get(name),
    played: (by, work) => players.run(by, work),
  }
}

/** What a memory asks of the agent's own model is no step of a run: somebody else writes it. */
function withScribe(memory: Memory): Memory {
  return {
    view: (...args) => memory.view(...args),
    ...(memory.needsCompaction === undefined
      ? {}
      : { needsCompaction: (...args) => memory.needsCompaction?.(...args) ?? false }),
    ...(memory.compact === undefined
      ? {}
      : {
          compact: async (transcript, state, io) =>
            (await memory.compact?.(transcript, state, { ...io, agentModel: scribe })) ?? { state },
        }),
  }
}

function stubbed(tools: ToolsOption, stub: (tool: Tool) => Tool): ToolsOption {
  return typeof tools === 'function' ? (facts) => tools(facts).map(stub) : tools.map(stub)
}
