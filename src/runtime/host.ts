import type { RunEvent } from '../journal/entry.ts'
import type { Spent } from '../machines/effects.ts'
import type { Effect } from './pureMachine.ts'

/**
 * Performs what the machine asks for and says what happened next. There is one that works in this process; a durable
 * engine is another.
 */
export interface Host {
  /** Begins an effect; its settling comes out of `next`. */
  start(effect: Effect): void
  /** What an effect has spent so far whose settling has not come out of `next`. */
  spent(place: string): readonly Spent[]
  /** Nobody wants the effect any more. It is told to stop, perhaps why, and nothing is heard of it again. */
  stop(place: string, reason?: unknown): void
  /** Whether word has come to stop the run: nothing new is begun then. */
  readonly isCancelled: boolean
  /** Resolves when that word comes. */
  readonly cancelled: Promise<void>
  /** Resolves with the next thing that happened, or with nothing where it was roused. */
  next(): Promise<RunEvent | undefined>
  /** Makes who waits for `next` look around. */
  rouse(): void
}
