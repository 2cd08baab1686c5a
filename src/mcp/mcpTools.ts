import { LoopchartError, MisuseError } from '../errors.ts'
import { DEFAULT_TOOL_TIMEOUT_MS } from '../tools/defineTool.ts'
import type { Tool } from '../tools/tool.ts'
import type { McpAnnotations, McpClient, McpTool } from './client.ts'
import { toolFrom } from './toolFrom.ts'
import { toolNames } from './toolNames.ts'

export interface McpToolsOptions {
  /** What each name begins with, such as `files_`, so that the tools of several servers differ. Default: nothing. */
  readonly prefix?: string
  /** Names on the server of the tools that are wanted. Default: all. */
  readonly include?: readonly string[]
  /** Names on the server of tools that are not wanted. Default: none. */
  readonly exclude?: readonly string[]
  /** Milliseconds after which a call is given up, and the server told so. Default: 30000. */
  readonly timeoutMs?: number
  /**
   * Whether a person has to approve a call before it runs. `'destructive'`: where the server does not rule out that the
   * tool destroys something. Default: false.
   */
  readonly needsApproval?: boolean | 'destructive' | ((call: McpToolCall) => boolean | Promise<boolean>)
}

/** A call on which `needsApproval` decides. */
export interface McpToolCall {
  /** The tool's name as the server knows it. */
  readonly name: string
  readonly args: Record<string, unknown>
  readonly annotations: McpAnnotations
}

/**
 * The tools of a connected MCP server, as tools of an agent. The client stays yours: connect it before and close it
 * when the agent is no longer used. A server that fails, refuses or is lost makes the call fail, never the run.
 *
 * @param client The `Client` of `@modelcontextprotocol/sdk`, with any transport.
 * @throws MisuseError `invalid_option` for a bad prefix, or a name in `include` or `exclude` that the server has not.
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<Tool[]> {
  const {
    prefix = '',
    include,
    exclude = [],
    timeoutMs = DEFAULT_TOOL_TIMEOUT_MS,
    needsApproval = false,
  } = options
  if (!/^[a-zA-Z0-9_-]*$/.test(prefix)) {
    throw new MisuseError(
      'invalid_option',
      `prefix ${JSON.stringify(prefix)} may hold letters, digits, "_" and "-" only.`,
    )
  }
  const listed = await listAll(client)
  requireKnown('include', include ?? [], listed)
  requireKnown('exclude', exclude, listed)
  const names = toolNames([...listed.keys()], prefix)
  return [...listed.values()]
    .filter(({ name }) => (include?.includes(name) ?? true) && !exclude.includes(name))
    .map((tool) =>
      toolFrom(client, tool, { name: names.get(tool.name) ?? tool.name, timeoutMs, needsApproval }),
    )
}

/** All pages of a server's list, by name. Tools that run as tasks only are left out: a plain call of them fails. */
async function listAll(client: McpClient): Promise<ReadonlyMap<string, McpTool>> {
  const tools = new Map<string, McpTool>()
  const cursors = new Set<string>()
  let page = await client.listTools()
  for (;;) {
    for (const tool of page.tools) {
      if (tool.execution?.taskSupport !== 'required') tools.set(tool.name, tool)
    }
    const { nextCursor: cursor } = page
    if (cursor === undefined) return tools
    if (cursors.has(cursor)) {
      throw new LoopchartError(
        'mcp_error',
        'The MCP server lists its tools in a circle: it repeats a cursor.',
      )
    }
    cursors.add(cursor)
    page = await client.listTools({ cursor })
  }
}

/** A name that is misspelt would let through what was to be kept out. */
function requireKnown(option: string, names: readonly string[], listed: ReadonlyMap<string, McpTool>): void {
  const stray = names.find((name) => !listed.has(name))
  if (stray === undefined) return
  throw new MisuseError(
    'invalid_option',
    `${option}: the MCP server has no tool named ${JSON.stringify(stray)}. It has ${[...listed.keys()].join(', ')}.`,
  )
}
