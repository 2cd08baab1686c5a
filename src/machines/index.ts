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
  EffectKind,
  EffectMap,
  ModelTurn,
  RunToolInput,
  SleepInput,
  ToolAnswer,
} from './effects.ts'
export type { Reaction, Verdict } from './limits.ts'
export type {
  Aborted,
  AbortReason,
  Done,
  Ending,
  EndingFacts,
  Outcome,
  PendingApproval,
  Waiting,
} from './outcome.ts'
export type { Decision } from './reducers.ts'
export { defaultSettings, type Limits, type RunSettings, type SettingsInput } from './settings.ts'
