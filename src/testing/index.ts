export { findViolations, type Rule, type Violation } from '../messages/invariants.ts'
export { callTool } from './callTool.ts'
export type { Check } from './check.ts'
export { type CheckMemoryOptions, checkMemory, type MemoryReport } from './checkMemory.ts'
export { journalChecks } from './journalChecks.ts'
export {
  HANG,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedReply,
  type ScriptedStep,
  scriptedModel,
} from './scriptedModel.ts'
export { sessionStoreChecks } from './sessionStoreChecks.ts'
