import type { ModelRequest } from '../models/model.ts'
import type { AgentEvent } from '../runtime/events.ts'

/** What is seen of a run. */
export type SeenEvent =
  | AgentEvent
  | {
      readonly type: 'model.requested'
      readonly runId: string
      readonly at: number
      readonly place: string
      readonly request: ModelRequest
    }
