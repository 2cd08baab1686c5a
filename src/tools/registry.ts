import { MisuseError } from '../errors.ts'
import type { ToolSpec } from '../messages/types.ts'
import type { Tool } from './tool.ts'

/**
 * Tools by name. A `Map`, so that a model which calls `constructor` or `__proto__` meets an unknown tool.
 *
 * @throws MisuseError `duplicate_tool` where two tools share a name.
 */
export function toolsByName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const byName = new Map<string, Tool>()
  for (const tool of tools) {
    if (byName.has(tool.name)) {
      throw new MisuseError(
        'duplicate_tool',
        `Two tools are named "${tool.name}". Give each tool a name of its own.`,
      )
    }
    byName.set(tool.name, tool)
  }
  return byName
}

/** What the model is told of the tools. */
export function specsOf(tools: ReadonlyMap<string, Tool>): readonly ToolSpec[] {
  return [...tools.values()].map(({ name, description, parameters, strict }) => ({
    name,
    description,
    parameters,
    ...(strict === true ? { strict } : {}),
  }))
}
