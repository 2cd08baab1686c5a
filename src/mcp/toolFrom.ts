import { z } from 'zod'
import { MisuseError } from '../errors.ts'
import { defineTool, type ToolDefinition } from '../tools/defineTool.ts'
import type { Tool } from '../tools/tool.ts'
import { callServer } from './callServer.ts'
import type { McpAnnotations, McpClient, McpTool } from './client.ts'
import type { McpToolsOptions } from './mcpTools.ts'

export interface ToolSettings {
  /** What the model calls it. */
  readonly name: string
  /** Milliseconds. */
  readonly timeoutMs: number
  readonly needsApproval: NonNullable<McpToolsOptions['needsApproval']>
}

/** A tool that calls its namesake on a server. */
export function toolFrom(client: McpClient, tool: McpTool, settings: ToolSettings): Tool {
  const { name, timeoutMs, needsApproval } = settings
  const { annotations = {} } = tool
  const idempotent = annotations.readOnlyHint === true || annotations.idempotentHint === true
  const defined = defineWithSchema(tool.inputSchema, {
    name,
    description: tool.description ?? tool.title ?? annotations.title ?? tool.name,
    timeoutMs,
    idempotent,
    // A call that broke off may have had its effect.
    retries: idempotent ? 1 : 0,
    needsApproval: approvalOf(tool.name, annotations, needsApproval),
    run: (args, context) => callServer(client, { name: tool.name, args, timeoutMs }, context),
  })
  return {
    ...defined,
    // The server applies the defaults of its schema itself: it is sent what the model wrote.
    async parse(args) {
      const parsed = await defined.parse(args)
      return parsed.ok ? { ok: true, value: args } : parsed
    },
  }
}

/** Where a schema says what cannot be checked here, only an object is asked for: the server checks it in any case. */
function defineWithSchema(
  inputSchema: McpTool['inputSchema'],
  definition: Omit<ToolDefinition, 'input'>,
): Tool {
  try {
    return defineTool({ ...definition, input: inputSchema })
  } catch (thrown) {
    if (!(thrown instanceof MisuseError)) throw thrown
    return defineTool({ ...definition, input: z.looseObject({}), parameters: inputSchema })
  }
}

function approvalOf(
  name: string,
  annotations: McpAnnotations,
  needsApproval: ToolSettings['needsApproval'],
): NonNullable<ToolDefinition['needsApproval']> {
  if (needsApproval === 'destructive') return mayDestroy(annotations)
  if (typeof needsApproval === 'function') return (args) => needsApproval({ name, args, annotations })
  return needsApproval
}

/** What a server does not say counts as the protocol has it: a tool that changes things may destroy some. */
function mayDestroy({ readOnlyHint, destructiveHint }: McpAnnotations): boolean {
  return readOnlyHint !== true && destructiveHint !== false
}
