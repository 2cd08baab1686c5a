import type { InspectedEvent } from '../../protocol.ts'
import { emptyView, type RunView } from './runView.ts'
import { isStop, rowsOf, type TimelineRow } from './timeline.ts'
import { withEvent } from './withEvent.ts'

/** After so many events a view is kept, so that a look back folds at most as many. */
const CHECKPOINT_EVERY = 256

/** The events of one run, and what was known of it after each. */
export class RunHistory {
  readonly #events: InspectedEvent[] = []
  readonly #rows: TimelineRow[] = []
  readonly #checkpoints: RunView[] = [emptyView]
  #newest: RunView = emptyView
  /** The last view that was asked for, and how many events it is made of. */
  #asked: { readonly count: number; readonly view: RunView } = { count: 0, view: emptyView }

  /** The index of the event that is missing next. */
  get next(): number {
    return (this.#events.at(-1)?.index ?? -1) + 1
  }

  /** The index of the first event that is known: more than 0 where older ones were not kept. */
  get first(): number {
    return this.#events[0]?.index ?? 0
  }

  get isEmpty(): boolean {
    return this.#events.length === 0
  }

  get count(): number {
    return this.#events.length
  }

  get newest(): RunView {
    return this.#newest
  }

  /** All rows of the timeline, oldest first. */
  get rows(): readonly TimelineRow[] {
    return this.#rows
  }

  /**
   * Adds events; those that are known already are passed over.
   *
   * @returns Whether they fit: `false` where events are missing before one of them, which is then left out.
   */
  append(events: readonly InspectedEvent[]): boolean {
    for (const inspected of events) {
      if (inspected.index < this.next) continue
      if (inspected.index > this.next && !this.isEmpty) return false
      this.#add(inspected)
    }
    return true
  }

  #add(inspected: InspectedEvent): void {
    this.#events.push(inspected)
    this.#newest = withEvent(this.#newest, inspected)
    this.#rows.push(...rowsOf(inspected))
    if (this.#events.length % CHECKPOINT_EVERY === 0) this.#checkpoints.push(this.#newest)
  }

  /** What was known after the event of this index. */
  viewAt(index: number): RunView {
    const count = Math.min(Math.max(index - this.first + 1, 0), this.#events.length)
    if (count === this.#events.length) return this.#newest
    const checkpoint = Math.floor(count / CHECKPOINT_EVERY)
    const { count: asked } = this.#asked
    const isNear = asked <= count && asked >= checkpoint * CHECKPOINT_EVERY
    let folded = isNear ? asked : checkpoint * CHECKPOINT_EVERY
    let view = isNear ? this.#asked.view : (this.#checkpoints[checkpoint] ?? emptyView)
    for (; folded < count; folded += 1) {
      const inspected = this.#events[folded]
      if (inspected !== undefined) view = withEvent(view, inspected)
    }
    this.#asked = { count, view }
    return view
  }

  at(index: number): InspectedEvent | undefined {
    return this.#events[index - this.first]
  }

  /** The entry of the journal that an event tells of, or the nearest one before it that is known. */
  positionAt(index: number): number | undefined {
    for (let i = Math.min(index, this.next - 1); i >= this.first; i -= 1) {
      const position = this.at(i)?.position
      if (position !== undefined) return position
    }
    return undefined
  }

  /** The next event worth stopping at, in a direction; the last one at an end. */
  stopFrom(index: number, direction: 1 | -1): number {
    const last = this.next - 1
    for (let i = index + direction; i >= this.first && i <= last; i += direction) {
      const inspected = this.at(i)
      if (inspected !== undefined && isStop(inspected.event)) return i
    }
    return direction === 1 ? last : this.first
  }
}
