export { findViolations, type Rule, type Violation } from '../messages/invariants.ts'
export { callTool } from './callTool.ts'
export { CheckFailure } from './check/checkFailure.ts'
export type { CheckReport } from './check/report.ts'
export type { PromiseName } from './check/story.ts'
export { type CheckOptions, checkAgent } from './checkAgent.ts'
export { type CheckMemoryOptions, checkMemory, type MemoryReport } from './checkMemory.ts'
export type { CallableTool, StagingOptions } from './double/stagedAgent.ts'
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
export { type SimulateOptions, simulate } from './simulate.ts'
export type { Behaviour, ModelMoment } from './simulation/behaviour.ts'
export type { Distribution } from './simulation/distribution.ts'
export type { Faults } from './simulation/faults.ts'
export type { Latency } from './simulation/latency.ts'
export type { SimulationReport } from './simulation/simulationReport.ts'
export type { Check } from './storeCheck.ts'
