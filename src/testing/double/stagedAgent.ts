import type { Agent, AgentOptions } from '../../agent.ts'
import { MisuseError } from '../../errors.ts'
import type { ModelRequest } from '../../models/model.ts'
import { outputFormat } from '../../outputFormat.ts'
import type { ToolsOption } from '../../tools/toolbox.ts'
import { type AgentDouble, doubleOf } from './agentDouble.ts'
import { type ByTool, Samples } from './samples.ts'
import { sampleValue } from './sampleValue.ts'

/** What is played in place of an agent's model and tools. */
export interface StagingOptions {
  /** The tools that the model calls. Default: all that it is offered. */
  readonly tools?: readonly string[]
  /**
   * Arguments for calls, by tool, where those made from its schema will not do, or where it makes a difference with
   * which a tool is called: an amount that needs approval, and one that does not.
   */
  readonly samples?: ByTool
  /** What a tool's `run` gives back when all is well, by tool. Default: a short text, another for each call. */
  readonly results?: ByTool
  /** The model's answer, where one made from the agent's `output` schema will not do. */
  readonly answer?: string
}

/** A tool that the model may call, with arguments that fit it: at least one. */
export interface CallableTool {
  readonly name: string
  readonly samples: readonly unknown[]
}

/** An agent's double, with what the model says and the tools give back. */
export class StagedAgent<Output> {
  readonly double: AgentDouble<Output>
  readonly #wanted: readonly string[] | undefined
  readonly #samples: Samples
  readonly #results: ByTool
  readonly #answer: string | undefined

  /** @throws MisuseError for what is no agent, and for options that do not fit it. */
  constructor(agent: Agent<Output>, { tools, samples = {}, results = {}, answer }: StagingOptions) {
    this.double = doubleOf(agent, (name) => Object.hasOwn(results, name))
    this.#wanted = tools
    this.#samples = new Samples(samples)
    this.#results = results
    this.#answer = answer
    const { options } = this.double.agent
    requireTools(options.tools, [...Object.keys(samples), ...Object.keys(results), ...(tools ?? [])])
    this.#requireForm(options)
  }

  /**
   * The tools of a request that the model calls.
   *
   * @throws MisuseError `no_sample` or `invalid_sample`, as `Samples` does.
   */
  callable({ tools }: ModelRequest): Promise<readonly CallableTool[]> {
    const names = tools.map(({ name }) => name).filter((name) => this.#wanted?.includes(name) ?? true)
    return Promise.all(
      names.map(async (name) => {
        const tool = this.double.toolNamed(name)
        return { name, samples: tool === undefined ? [{}] : await this.#samples.of(tool) }
      }),
    )
  }

  /** An answer as the agent wants it. */
  answerTo({ responseFormat }: Pick<ModelRequest, 'responseFormat'>): string {
    if (this.#answer !== undefined) return this.#answer
    return responseFormat?.type === 'json_schema'
      ? JSON.stringify(sampleValue(responseFormat.schema))
      : 'The answer.'
  }

  /** The user's own results of a tool; none where there are none. */
  resultsOf(name: string): readonly unknown[] {
    return Object.hasOwn(this.#results, name) ? (this.#results[name] ?? []) : []
  }

  /** The model's answer has to be of the form that the agent wants, or no run could end well. */
  #requireForm({ output }: AgentOptions<Output>): void {
    if (output === undefined) return
    const { responseFormat, read } = outputFormat(output)
    const answer = this.answerTo({ responseFormat })
    const result = read(answer)
    if (result.ok) return
    const [code, hint] =
      this.#answer === undefined
        ? (['no_sample', "Give one that does: answer: '{ … }'."] as const)
        : (['invalid_sample', 'Mend the option `answer`.'] as const)
    throw new MisuseError(
      code,
      `The answer ${answer} is not of the form that the agent wants. ${result.problem} ${hint}`,
    )
  }
}

/** Which tools a function will choose is not known beforehand. */
function requireTools(tools: ToolsOption | undefined, named: readonly string[]): void {
  if (typeof tools === 'function') return
  const known = (tools ?? []).map(({ name }) => name)
  const unknown = named.find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new MisuseError(
    'unknown_tool',
    `The agent has no tool "${unknown}"${known.length === 0 ? ', and no other.' : `, only ${known.join(', ')}.`}`,
  )
}
