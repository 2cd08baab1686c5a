import { MisuseError, messageOf } from '../../errors.ts'
import type { JsonSchema } from '../../messages/types.ts'
import type { Tool } from '../../tools/tool.ts'
import { sampleValue } from './sampleValue.ts'

/** Values by the name of the tool to which they belong. */
export type ByTool = Readonly<Record<string, readonly unknown[]>>

/** Arguments for calls of tools that are played: the user's own, else ones made from the tool's schema. */
export class Samples {
  readonly #given: ByTool
  /** By schema: a tool that is made anew for each step may take other arguments each time. */
  readonly #known = new WeakMap<JsonSchema, Promise<readonly unknown[]>>()

  constructor(given: ByTool) {
    this.#given = given
  }

  /**
   * Arguments that fit a tool, at least one.
   *
   * @throws MisuseError `no_sample` where none can be made from the schema, `invalid_sample` for given ones that do not fit.
   */
  of(tool: Tool): Promise<readonly unknown[]> {
    const known = this.#known.get(tool.parameters) ?? this.#find(tool)
    this.#known.set(tool.parameters, known)
    return known
  }

  async #find(tool: Tool): Promise<readonly unknown[]> {
    const { name, parameters } = tool
    const given = this.#given[name]
    if (given === undefined || given.length === 0) {
      const made = sampleValue(parameters)
      const issues = await issuesOf(tool, made)
      if (issues === undefined) return [made]
      throw new MisuseError(
        'no_sample',
        `No arguments for the tool "${name}" could be made from its schema: ${JSON.stringify(made)} does not fit ` +
          `(${issues}). Give some that do: samples: { ${name}: [{ … }] }.`,
      )
    }
    for (const sample of given) {
      const issues = await issuesOf(tool, sample)
      if (issues === undefined) continue
      throw new MisuseError(
        'invalid_sample',
        `samples.${name} has arguments that do not fit the tool: ${JSON.stringify(sample)} (${issues}).`,
      )
    }
    return given
  }
}

/** What is wrong with arguments, in words; `undefined` where they fit. */
async function issuesOf(tool: Tool, args: unknown): Promise<string | undefined> {
  try {
    const parsed = await tool.parse(args)
    return parsed.ok ? undefined : parsed.issues.join('; ')
  } catch (thrown) {
    return messageOf(thrown)
  }
}
