import type { ErrorInfo } from '../errors.ts'
import { repairHistory } from '../messages/history.ts'
import { type ModelReply, noUsage, type Usage } from '../messages/reply.ts'
import { Transcript } from '../messages/transcript.ts'
import type { Message, ToolCall } from '../messages/types.ts'
import type { ToolAnswer } from './effects.ts'
import type { Verdict } from './limits.ts'
import { freshMemory, type MemoryState } from './memoryState.ts'
import type { AbortReason, AnsweredBy } from './outcome.ts'
import { type RunSettings, resolveSettings, type SettingsInput } from './settings.ts'

/** A tool call of the present step. */
export interface OpenCall {
  /** With an id that is unique in the transcript, and the arguments as the model wrote them. */
  readonly call: ToolCall
  /** Whether a person still has to decide. */
  readonly approval: 'not_needed' | 'pending' | 'approved'
  /** The position of an earlier call of the step that asks for the same: its answer is the answer to both. */
  readonly sameAs?: number
  /** Whether it waits for those before it, and those behind it wait for it. */
  readonly sequential?: boolean
  /** Set once it has begun, in steps whose calls do not all begin at once. */
  readonly started?: boolean
  /** Set where it had begun when a process died, and a person is to say what becomes of it. */
  readonly inDoubt?: true
  /** Whether a person changed its arguments. */
  readonly edited?: boolean
  /** Set once the call is settled. */
  readonly answer?: ToolAnswer
}

/** Everything the machine knows of a run. */
export interface AgentContext {
  readonly settings: RunSettings
  /** System text that came with the history, for agents that have no instructions of their own. */
  readonly instructions: string | undefined
  readonly transcript: Transcript
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
  /** Failed tool calls in a row. */
  readonly errorStreak: number
  /** Malformed replies in a row. */
  readonly malformed: number
  readonly usage: Usage
  readonly toolCalls: number
  readonly toolErrors: number
  /** The limit that fired, if one has. */
  readonly verdict: Verdict | undefined
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
  'step' | 'closings' | 'usage' | 'toolCalls' | 'toolErrors' | 'answeredBy'
>

/** The context a run starts with. Histories are repaired, so whatever a store held, the first request is sendable. */
export function startingContext(input: AgentInput, settings: RunSettings): AgentContext {
  const { messages, memory = freshMemory, carried, ...own } = runInputOf(input)
  const history = repairHistory(messagesOf(messages))
  return {
    settings: resolveSettings(own, settings),
    instructions: history.instructions.length === 0 ? undefined : history.instructions.join('\n\n'),
    transcript: Transcript.of(history.messages),
    memory,
    step: 0,
    closings: 0,
    attempt: 0,
    reply: undefined,
    calls: [],
    errorStreak: 0,
    malformed: 0,
    usage: noUsage,
    toolCalls: 0,
    toolErrors: 0,
    verdict: undefined,
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
