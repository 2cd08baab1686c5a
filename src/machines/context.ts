import type { ErrorInfo } from '../errors.ts'
import { repairHistory } from '../messages/history.ts'
import type { ModelReply, Usage } from '../messages/reply.ts'
import { Transcript } from '../messages/transcript.ts'
import type { Message, ToolCall, UserMessage } from '../messages/types.ts'
import type { ToolAnswer } from './effects.ts'
import type { Verdict, Warning } from './limits/judgement.ts'
import { noProgress, type Progress } from './limits/progress.ts'
import { freshMemory, type MemoryState } from './memoryState.ts'
import type { AbortReason, AnsweredBy } from './outcome.ts'
import { defaultPolicy, type Policy } from './policy.ts'
import { type RunSettings, resolveSettings, type SettingsInput } from './settings.ts'
import { nothingSpent } from './spending.ts'

/** A tool call of the present step. */
export interface OpenCall {
  /** With an id that is unique in the transcript, and the arguments as the model wrote them. */
  readonly call: ToolCall
  /** The same for calls that ask for the same: a fingerprint of the tool's name and the arguments. */
  readonly signature: number
  /** That of the arguments as the model wrote them, where a person changed them. */
  readonly askedAs?: number
  /** Whether a person still has to decide. */
  readonly approval: 'not_needed' | 'pending' | 'approved'
  /** The position of an earlier call of the step that asks for the same: its answer is the answer to both. */
  readonly sameAs?: number
  /** How often it has been made, this time included; set where the limit `sameCalls` counts it. */
  readonly asked?: number
  /** What a limit warns of, below its result. */
  readonly note?: string
  /** Whether it waits for those before it, and those behind it wait for it. */
  readonly sequential?: boolean
  /** Whether asking for the same again is legitimate: no limit takes it for a repetition. */
  readonly repeatable?: boolean
  /** Set once it has begun, in steps whose calls do not all begin at once. */
  readonly started?: boolean
  /** Set where it had begun when a process died, and a person is to say what becomes of it. */
  readonly inDoubt?: true
  /** Binds a decision to this call as it stands now. */
  readonly token?: string
  /** Whether a person changed its arguments. */
  readonly edited?: boolean
  /** Set once the call is settled. */
  readonly answer?: ToolAnswer
}

/** Everything the machine knows of a run. */
export interface AgentContext {
  readonly settings: RunSettings
  /** Texts and limits of the agent: functions, the same for all its runs. */
  readonly policy: Policy
  /** System text that came with the history, for agents that have no instructions of their own. */
  readonly instructions: string | undefined
  readonly transcript: Transcript
  /** Where the turn begins that the run answers: behind the last user message that the run began with. */
  readonly turnStart: number
  /**
   * What the last reply told of the size of the conversation: how many tokens its first messages have. A reply that did
   * not enter the transcript is not among them.
   */
  readonly measured: { readonly tokens: number; readonly messages: number }
  readonly memory: MemoryState
  /** Model calls that could ask for tools, counting the one under way. */
  readonly step: number
  /** Closing calls that were begun: a second one only where room had to be made for it. */
  readonly closings: number
  /** Attempts at the present model call, counting the one under way. */
  readonly attempt: number
  /** The last reply that arrived. */
  readonly reply: ModelReply | undefined
  /** The calls of the present step; empty once their results are in the transcript. */
  readonly calls: readonly OpenCall[]
  /** Messages that were sent to the run and have not entered the transcript: they do when the next step begins. */
  readonly sent: readonly UserMessage[]
  /** What the limits have to know of the steps so far. */
  readonly progress: Progress
  /** Malformed replies in a row. */
  readonly malformed: number
  /** Milliseconds from the start of the run to the last event of which the time was told. */
  readonly elapsedMs: number
  readonly usage: Usage
  readonly usageByModel: Readonly<Record<string, Usage>>
  /** By the prices in the settings; 0 where there are none. */
  readonly cost: number
  /** The names of the model that answered last, the most exact one first. */
  readonly model: readonly string[]
  readonly toolCalls: number
  readonly toolErrors: number
  /** The limit that ends the run, if one does. */
  readonly verdict: Verdict | undefined
  /** What limits warn of since the last step. */
  readonly warnings: readonly Warning[]
  /** Whether room has been made once because the provider found the conversation too long. */
  readonly madeRoom: boolean
  /** Which model answered, from which step on; grows only where another one answers. */
  readonly answeredBy: readonly AnsweredBy[]
  /** What was mended in the history that the run began with. */
  readonly historyNotes: readonly string[]
  /** The last error of a model call. */
  readonly error: ErrorInfo | undefined
  /** Why the run was aborted, once it is. */
  readonly aborted: { readonly reason: AbortReason; readonly message: string } | undefined
}

/** What a run starts from: a question, or a conversation to go on with, and settings that differ from the agent's. */
export type AgentInput = string | readonly Message[] | RunInput

export interface RunInput extends SettingsInput {
  readonly messages: string | readonly Message[]
  /** What the memory had come to in an earlier run of the conversation: `outcome.memory`. Default: nothing. */
  readonly memory?: MemoryState | undefined
  /** What the run had come to under another agent; set where it is migrated. */
  readonly carried?: Carried | undefined
}

/** What a run takes along when another agent goes on with it: its limits hold over both, and no place is used twice. */
export type Carried = Pick<
  AgentContext,
  | 'step'
  | 'closings'
  | 'usage'
  | 'usageByModel'
  | 'cost'
  | 'elapsedMs'
  | 'toolCalls'
  | 'toolErrors'
  | 'answeredBy'
>

/** The context a run starts with. Histories are repaired, so whatever a store held, the first request is sendable. */
export function startingContext(
  input: AgentInput,
  settings: RunSettings,
  policy: Policy = defaultPolicy,
): AgentContext {
  const { messages, memory = freshMemory, carried, ...own } = runInputOf(input)
  const history = repairHistory(messagesOf(messages))
  return {
    settings: resolveSettings(own, settings),
    policy,
    instructions: history.instructions.length === 0 ? undefined : history.instructions.join('\n\n'),
    transcript: Transcript.of(history.messages),
    turnStart: history.messages.findLastIndex(({ role }) => role === 'user') + 1,
    measured: { tokens: 0, messages: 0 },
    memory,
    step: 0,
    closings: 0,
    attempt: 0,
    reply: undefined,
    calls: [],
    sent: [],
    progress: noProgress,
    malformed: 0,
    elapsedMs: 0,
    ...nothingSpent,
    model: [],
    toolCalls: 0,
    toolErrors: 0,
    verdict: undefined,
    warnings: [],
    madeRoom: false,
    answeredBy: [],
    historyNotes: history.notes,
    error: undefined,
    aborted: undefined,
    ...carried,
  }
}

export function runInputOf(input: AgentInput): RunInput {
  return typeof input === 'string' || isMessages(input) ? { messages: input } : input
}

function isMessages(input: AgentInput): input is readonly Message[] {
  return Array.isArray(input)
}

export function messagesOf(messages: string | readonly Message[]): readonly Message[] {
  return typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages
}
