/**
 * What is needed of a connected client. The `Client` of `@modelcontextprotocol/sdk` fits; nothing of that package is
 * loaded here.
 */
export interface McpClient {
  listTools(params?: { cursor: string }): Promise<McpToolPage>
  callTool(
    params: { name: string; arguments: Record<string, unknown> },
    resultSchema?: undefined,
    options?: McpRequestOptions,
  ): Promise<unknown>
  ping(options?: McpRequestOptions): Promise<unknown>
}

/** Those of the SDK's `RequestOptions` that a call is made with. */
export interface McpRequestOptions {
  signal?: AbortSignal
  /** Milliseconds. */
  timeout?: number
  onprogress?: (progress: McpProgress) => void
}

/** How far a call has come, as its server says. */
export interface McpProgress {
  progress: number
  total?: number | undefined
  message?: string | undefined
}

export interface McpToolPage {
  tools: McpTool[]
  nextCursor?: string | undefined
}

/** A tool as its server describes it. */
export interface McpTool {
  name: string
  title?: string | undefined
  description?: string | undefined
  inputSchema: { [keyword: string]: unknown }
  annotations?: McpAnnotations | undefined
  execution?: { taskSupport?: string | undefined } | undefined
}

/** What a server says of its tool's effects. Nobody checks it: believe servers that you trust. */
export interface McpAnnotations {
  title?: string | undefined
  readOnlyHint?: boolean | undefined
  destructiveHint?: boolean | undefined
  idempotentHint?: boolean | undefined
  openWorldHint?: boolean | undefined
}
