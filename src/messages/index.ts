export { RESULT_NOT_RECORDED, type RepairedHistory, repairHistory } from './history.ts'
export { findViolations, type Rule, type Violation } from './invariants.ts'
export type { FinishReason, ModelReply, Usage } from './reply.ts'
export type { Delta } from './replyAccumulator.ts'
export { type ToolErrorCode, toolTexts } from './toolTexts.ts'
export type {
  AssistantMessage,
  ContentPart,
  JsonSchema,
  Message,
  SystemMessage,
  ToolCall,
  ToolMessage,
  ToolSpec,
  UserMessage,
} from './types.ts'
