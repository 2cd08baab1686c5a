import type { AgentOptions } from '../agent.ts'
import { AgentMemory } from '../agentMemory.ts'
import { requestOf, shownRequest } from '../callModel.ts'
import type { CallModelInput } from '../machines/effects.ts'
import { defaultMemory } from '../memory/defaultMemory.ts'
import { tokenCounter } from '../memory/tokens/countTokens.ts'
import type { ModelRequest } from '../models/model.ts'
import { outputFormat } from '../outputFormat.ts'
import { Toolbox } from '../tools/toolbox.ts'

export type RequestOf = (input: CallModelInput) => {
  readonly request: ModelRequest
  readonly tokens?: number
}

/** What an agent sends for a model call, with its memory and its tools as they are now. Asks nobody. */
export function requestsOf(options: RequestingAgent): RequestOf {
  const { model, instructions, memory = defaultMemory() } = options
  const toolbox = new Toolbox(options.tools ?? [])
  const output = options.output && outputFormat(options.output)
  const parts = {
    output,
    memory: new AgentMemory({
      memory,
      model,
      tokenCounter: options.tokenCounter ?? tokenCounter(model.id),
      instructions,
      outputInstructions: output?.instructions,
      tools: () => toolbox.specs,
      timeoutMs: 0,
    }),
  }
  const tools = toolbox.forRun()
  return (input) => {
    const set = tools.at(input.step, () => input.transcript.toArray())
    return shownRequest(input, requestOf(input, set, parts))
  }
}

/** What of an agent decides what it sends. */
export type RequestingAgent = Pick<
  AgentOptions<unknown>,
  'model' | 'instructions' | 'memory' | 'tools' | 'output' | 'tokenCounter'
>

/** What is known of the requests of an agent that is not there: its model's name. Its memory is taken to be the default. */
export function requestsOfModel(id: string): RequestOf {
  const generate = async (): Promise<never> => {
    throw new Error('A model of which only the name is known is not to be called.')
  }
  return requestsOf({ model: { id, generate } })
}
