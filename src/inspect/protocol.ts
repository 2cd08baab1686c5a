import type { RunStatus } from '../journal/entry.ts'
import type { AbortReason, PendingApproval } from '../machines/outcome.ts'
import type { Decision } from '../machines/reducers.ts'
import type { AgentEvent } from '../runtime/events.ts'

/**
 * What the inspector's server and its page say to each other: JSON over HTTP, below the path at which the inspector is
 * mounted. Errors are answered as `{ error: { code, message } }` with a fitting status.
 *
 * | request | answer |
 * |--|--|
 * | `GET api/about` | `About` |
 * | `GET api/chart` | `ChartDrawing` |
 * | `GET api/runs?status=&search=&before=&limit=` | `RunsPage` |
 * | `GET api/runs/:id` | `RunRow` |
 * | `GET api/runs/:id/events?from=` | `EventsPage` |
 * | `GET api/runs/:id/events/:index` | `InspectedEvent`, not abridged |
 * | `GET api/stream?run=&from=` | server-sent events, see `StreamMessage` |
 * | `POST api/runs/:id/decisions` with `{ decisions }` | `{ ok: true }` once they were taken up |
 * | `POST api/runs/:id/messages` with `{ message }` | `{ ok: true }` once it is part of the run |
 * | `POST api/runs/:id/cancel` with `{ message? }` | `{ ok: true }` |
 * | `POST api/runs/:id/resume` | `{ ok: true }` |
 * | `POST api/runs/:id/fork` with `ForkRequest` | `{ runId }` of the fork, which goes on by itself |
 */
export interface About {
  readonly version: string
  /** Changes with every start of the server: what a page knows of an earlier one has to be read anew. */
  readonly instance: string
  /** The agent's name; absent where there is no agent or it has none. */
  readonly agent?: string
  /** Whether there is an agent, so that runs can be decided on, told something, cancelled, resumed and forked. */
  readonly canAct: boolean
  /** Whether runs are kept in a journal, so that they can be forked and resumed. */
  readonly isKept: boolean
  /** The most tokens of a request and its reply together, where the agent's model says so. */
  readonly contextWindow?: number
}

/** The chart as a picture, and which of its elements (by `id`) stand for what. */
export interface ChartDrawing {
  readonly svg: string
  /** By state, as the events name it: `thinking.calling`. */
  readonly states: Readonly<Record<string, string>>
  /** By edge: its `edgeKey`. */
  readonly edges: Readonly<Record<string, string>>
}

/** A run in the list. */
export interface RunRow {
  readonly runId: string
  readonly status: RunStatus
  /** Whether it is under way in this process, so that it can be told something and cancelled. */
  readonly isLive: boolean
  readonly reason?: AbortReason
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly updatedAt: number
  readonly steps: number
  /** The last question of the conversation that it began with, in one line, shortened. */
  readonly question?: string
  /** The name of the agent that it is one of. */
  readonly agent?: string
  /** Input and output tokens together; absent where they are not known. */
  readonly tokens?: number
  readonly cost?: number
  readonly forkOf?: { readonly runId: string; readonly at: number }
  /** What a person has to decide, where it waits. */
  readonly approvals?: readonly PendingApproval[]
  /** Set where its journal cannot be read: why. */
  readonly problem?: string
}

/** Latest start first. */
export interface RunsPage {
  readonly runs: readonly RunRow[]
  /** Give it as `before` for the next page; absent on the last one. */
  readonly next?: string
}

/** Something that happened in a run, as the page is told. */
export interface InspectedEvent {
  /** Its number among those of its run, counted from 0. */
  readonly index: number
  /** Plain JSON. Pieces of a model's text that came one after the other may be joined to one. */
  readonly event: AgentEvent
  /** The entry of the journal that brought it about, where it is told from one. */
  readonly position?: number
  /**
   * Set where the event is told without a part that repeats the conversation: the `messages` and `tools` of a long
   * request, the `transcript` of a long outcome, are empty then. `GET api/runs/:id/events/:index` tells all of it, as
   * long as it is kept.
   */
  readonly abridged?: true
}

export interface EventsPage {
  readonly events: readonly InspectedEvent[]
  /** Give it as `from` for what follows. */
  readonly next: number
  /** Whether more can be read right away. */
  readonly hasMore: boolean
  /** Events that were not kept, oldest first left out; 0 where none. */
  readonly dropped: number
  /** Changes where the events are numbered anew, so that what was read before does not go with what follows. */
  readonly numbering?: string
}

/**
 * One message of `api/stream`, the `data` of a server-sent event. The `id` of each says where to go on after a break
 * (`Last-Event-ID`). Whoever cannot keep up, or comes back too late, is told `behind` and reads anew.
 */
export type StreamMessage =
  | { readonly type: 'hello'; readonly instance: string }
  /** A run has begun or changed: its row in the list. */
  | { readonly type: 'run'; readonly run: RunRow }
  /** Only for the run that was asked for with `?run=`: what comes from now on, or, with `&from=`, from that number on. */
  | { readonly type: 'event'; readonly runId: string; readonly event: InspectedEvent }
  /** Messages were left out. */
  | { readonly type: 'behind' }

export interface DecisionsRequest {
  readonly decisions: readonly Decision[]
}

export interface ForkRequest {
  /** The step in which the fork parts from the run, counted from 1. */
  readonly at: number
  /** What the model says in that step, instead of being asked. */
  readonly reply?: string
  /** Other results of calls of that step, by call id. */
  readonly results?: Readonly<Record<string, string>>
  /** Model calls that may ask for tools, if other than in the run. */
  readonly steps?: number
}
