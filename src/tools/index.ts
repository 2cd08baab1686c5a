export { DEFAULT_TOOL_TIMEOUT_MS, defineTool, type ToolDefinition } from './defineTool.ts'
export type { StandardSchema } from './schema/standardSchema.ts'
export type { ParsedArguments, StepFacts, Tool, ToolContext, ToolResult } from './tool.ts'
