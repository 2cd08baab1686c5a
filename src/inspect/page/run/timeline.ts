import type { EdgeName } from '../../../machines/edgeNames.ts'
import type { Verdict, Warning } from '../../../machines/limits/judgement.ts'
import type { UserMessage } from '../../../messages/types.ts'
import type { AgentEvent } from '../../../runtime/events.ts'
import type { InspectedEvent } from '../../protocol.ts'
import type { Call } from './call.ts'

/** A line of the timeline. `index` is that of its event; a call is looked up by it. */
export type TimelineRow = { readonly index: number; readonly at: number } & (
  | { readonly kind: 'started'; readonly resumed: boolean }
  | { readonly kind: 'transition'; readonly edge: EdgeName; readonly verdict?: Verdict }
  | { readonly kind: 'call' }
  | { readonly kind: 'message'; readonly message: UserMessage }
  | { readonly kind: 'repaired'; readonly notes: readonly string[] }
  | { readonly kind: 'warned'; readonly warning: Warning }
  | { readonly kind: 'reached'; readonly verdict: Verdict }
  | { readonly kind: 'finished'; readonly status: 'done' | 'aborted' | 'waiting'; readonly reason?: string }
)

/** The rows that an event adds: one, or none for what only changes a row that is there. */
export function rowsOf({ index, event }: InspectedEvent): readonly TimelineRow[] {
  const { at } = event
  switch (event.type) {
    case 'run.started':
      return [{ index, at, kind: 'started', resumed: event.resumed }]
    case 'transition': {
      const { verdict } = event
      return [{ index, at, kind: 'transition', edge: event, ...(verdict === undefined ? {} : { verdict }) }]
    }
    case 'model.started':
    case 'tool.started':
    case 'compaction.started':
    case 'retry.scheduled':
      return [{ index, at, kind: 'call' }]
    case 'message.received':
      return [{ index, at, kind: 'message', message: event.message }]
    case 'history.repaired':
      return [{ index, at, kind: 'repaired', notes: event.notes }]
    case 'limit.warned':
      return [{ index, at, kind: 'warned', warning: event.warning }]
    case 'limit.reached':
      return [{ index, at, kind: 'reached', verdict: event.verdict }]
    case 'run.finished': {
      const { outcome } = event
      const reason = outcome.status === 'aborted' ? { reason: outcome.reason } : {}
      return [{ index, at, kind: 'finished', status: outcome.status, ...reason }]
    }
    default:
      return []
  }
}

const passedOver: ReadonlySet<AgentEvent['type']> = new Set([
  'model.delta',
  'tool.progress',
  'usage.updated',
  'limits.updated',
])

/** Whether somebody who goes through the events one by one wants to stop at it. */
export function isStop({ type }: AgentEvent): boolean {
  return !passedOver.has(type)
}

/** The position, in the rows, of the last one that begins at or before an event; -1 where there is none. */
export function rowAt(rows: readonly TimelineRow[], index: number): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((rows[middle]?.index ?? Infinity) <= index) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Which row stands for the moment that is looked at: the call that ended with it, or what happened last. */
export function selectedRow(
  rows: readonly TimelineRow[],
  calls: ReadonlyMap<number, Call>,
  at: number | undefined,
): number {
  if (at === undefined) return -1
  const last = rowAt(rows, at)
  for (let position = last; position >= 0; position -= 1) {
    const row = rows[position]
    if (row === undefined || row.index === at) return position
    if (calls.get(row.index)?.endIndex === at) return position
    // Calls that were open for long are rare: whoever looks further back finds nothing.
    if (last - position > 200) break
  }
  return last
}
