import type { Message } from '../../../messages/types.ts'
import type { ModelRequest } from '../../../models/model.ts'
import type { AgentEvent } from '../../../runtime/events.ts'

/** How far a limit has counted, and where it reacts. */
export interface Gauge {
  readonly limit: string
  readonly used: number
  readonly max?: number
  readonly warn?: number
  readonly conclude?: number
  readonly abort?: number
}

/** What the page is told of a run. */
export type PageEvent =
  | AgentEvent
  | ({ readonly runId: string; readonly at: number } & (
      | { readonly type: 'messages.appended'; readonly messages: readonly Message[] }
      | {
          readonly type: 'model.requested'
          readonly place: string
          readonly closing: boolean
          readonly request: ModelRequest
          readonly tokens?: number
        }
      | { readonly type: 'limits.updated'; readonly limits: readonly Gauge[] }
    ))
