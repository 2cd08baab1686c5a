export { DEFAULT_TOOL_TIMEOUT_MS, defineTool, type ToolDefinition } from './defineTool.ts'
export type { ParsedArguments, StepFacts, Tool, ToolContext, ToolErrorCode, ToolResult } from './tool.ts'
