export type {
  McpAnnotations,
  McpClient,
  McpProgress,
  McpRequestOptions,
  McpTool,
  McpToolPage,
} from './client.ts'
export { type McpToolCall, type McpToolsOptions, mcpTools } from './mcpTools.ts'
