export {
  type ActiveRun,
  type Agent,
  type AgentOptions,
  type CloseOptions,
  type Closing,
  createAgent,
  type ForkOptions,
  type RecoverOptions,
  type ResumeOptions,
  type RunOptions,
} from './agent.ts'
export { type AgentProgress, type AgentTask, type AgentToolOptions, agentAsTool } from './agentAsTool.ts'
export { type ErrorInfo, JournalError, LoopchartError, MisuseError } from './errors.ts'
export type { Journal, JournalEntry, RunEvent, RunQuery, RunStatus, RunSummary } from './journal/entry.ts'
export { entryText, readEntry } from './journal/entryText.ts'
export type { AgentFingerprint } from './journal/fingerprint.ts'
export { memoryJournal } from './journal/memoryJournal.ts'
export { type SummaryChange, summaryAfter, summaryChange } from './journal/summary.ts'
export type { AgentInput, RunInput } from './machines/context.ts'
export type { CustomJudgement, CustomLimit, RunFacts, SettledCall } from './machines/limits/customLimit.ts'
export type { LimitGauge } from './machines/limits/gauges.ts'
export type { Reaction, Verdict, Warning } from './machines/limits/judgement.ts'
export type { CallLadder, FailureLadder, LimitLadder } from './machines/limits/ladder.ts'
export type { LimitName, LimitSetting, Limits } from './machines/limits/limits.ts'
export type { MemoryState } from './machines/memoryState.ts'
export type {
  Aborted,
  AbortReason,
  Done,
  Outcome,
  PendingApproval,
  RunUsage,
  Waiting,
} from './machines/outcome.ts'
export type { Price, Prices } from './machines/prices.ts'
export type { Decision } from './machines/reducers.ts'
export { type AnsweredCall, type ResultFormat, resultEnvelope } from './machines/resultFormat.ts'
export { type LimitTexts, limitTexts, type PartialResult } from './machines/texts/limitTexts.ts'
export * from './memory/index.ts'
export * from './messages/index.ts'
export { type FallbackOptions, fallback } from './models/fallback.ts'
export { type JsonProtocolOptions, jsonProtocol } from './models/jsonProtocol.ts'
export type { Model, ModelIO, ModelRequest, ResponseFormat } from './models/model.ts'
export { ModelError, type ModelErrorCode } from './models/modelError.ts'
export { type OpenAIChatOptions, openaiChat } from './models/openaiChat.ts'
export { type OpenAIResponsesOptions, responses } from './models/openaiResponses.ts'
export { type Difference, type DifferenceDetail, diff } from './runtime/diff.ts'
export type { AgentEvent } from './runtime/events.ts'
export type { Run } from './runtime/execute.ts'
export { JournalMismatchError } from './runtime/journalMismatch.ts'
export type { RecoveredRun } from './runtime/recover.ts'
export { type Replay, type ReplayedEntry, type ReplayOptions, replay } from './runtime/replay.ts'
export * from './sessions/index.ts'
export * from './tools/index.ts'
