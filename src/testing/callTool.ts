import { LoopchartError } from '../errors.ts'
import type { Tool, ToolContext } from '../tools/tool.ts'

/**
 * Runs a tool as the loop would, for a test of the tool alone: arguments are validated first, and what `run` returns
 * or throws is given back as it is.
 *
 * @param context What differs from an idle context: a signal that is never aborted, the key `test`, no caller's context.
 * @throws LoopchartError `invalid_arguments` where the arguments do not fit the tool's schema.
 */
export async function callTool(
  tool: Tool,
  args: unknown,
  context: Partial<ToolContext> = {},
): Promise<unknown> {
  const parsed = await tool.parse(args)
  if (!parsed.ok) {
    throw new LoopchartError(
      'invalid_arguments',
      `The arguments do not fit ${tool.name}: ${parsed.issues.join('; ')}`,
    )
  }
  return tool.run(parsed.value, {
    signal: new AbortController().signal,
    idempotencyKey: 'test',
    runId: 'test',
    callId: 'test',
    context: undefined,
    emit: () => {},
    ...context,
  })
}
