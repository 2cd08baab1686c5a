export { findViolations, type Rule, type Violation } from '../messages/invariants.ts'
export { callTool } from './callTool.ts'
export { CheckFailure } from './check/checkFailure.ts'
export type { CheckReport } from './check/report.ts'
export type { PromiseName } from './check/story.ts'
export { type CheckOptions, checkAgent } from './checkAgent.ts'
export type { CallableTool, StagingOptions } from './double/stagedAgent.ts'
export {
  HANG,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedReply,
  type ScriptedStep,
  scriptedModel,
} from './scriptedModel.ts'
