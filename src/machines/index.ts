export {
  type AgentMachine,
  type AgentMachineEvent,
  type AgentState,
  type AgentStateSchema,
  createAgentMachine,
} from './agentMachine.ts'
export type { AgentContext, AgentInput, OpenCall, RunInput } from './context.ts'
export type {
  CallModelInput,
  CompactInput,
  Compaction,
  EffectKind,
  EffectMap,
  ModelTurn,
  RunToolInput,
  SleepInput,
  ToolAnswer,
  WaitUntilInput,
} from './effects.ts'
export type { CustomJudgement, CustomLimit, RunFacts, SettledCall } from './limits/customLimit.ts'
export type { Counted, Reaction, Verdict, Warning } from './limits/judgement.ts'
export type { CallLadder, FailureLadder, LimitLadder } from './limits/ladder.ts'
export type { Ladders, LimitName, LimitSetting, Limits } from './limits/limits.ts'
export type {
  Aborted,
  AbortReason,
  Done,
  Ending,
  EndingFacts,
  Outcome,
  PendingApproval,
  RunUsage,
  Waiting,
} from './outcome.ts'
export { defaultPolicy, type Policy, type PolicyInput, policyOf } from './policy.ts'
export type { Price, Prices } from './prices.ts'
export type { Decision } from './reducers.ts'
export { type AnsweredCall, plainResult, type ResultFormat, resultEnvelope } from './resultFormat.ts'
export { defaultSettings, type RunSettings, resolveSettings, type SettingsInput } from './settings.ts'
export { type LimitTexts, limitTexts, type PartialResult } from './texts/limitTexts.ts'
