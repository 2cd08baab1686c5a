import type { Journal } from '../journal/entry.ts'
import { within } from '../thenables.ts'

/** How often a lease is renewed while it lasts. */
const RENEWALS = 3

/** How long a store may take to give a lease up. Milliseconds. */
const RELEASE_MS = 1000

/** What tells other processes that a run is looked after. */
export interface Lease {
  /** Whether it was had at once; `false` where another process is believed to be at work on the run. */
  readonly isHeld: Promise<boolean>
  /** From now on it is left to run out by itself: a store that has failed is not asked for more. */
  abandon(): void
  /** Gives it up, within a second whatever the store does. Never rejects. */
  release(): Promise<void>
}

/**
 * The leases on the runs of an agent, renewed by timers that keep no process alive. They say who is believed to be alive,
 * no more: where the store fails, a run goes on, and its journal has the last word.
 */
export class Leases {
  readonly #journal: Journal
  readonly #owner: string
  readonly #ttlMs: number
  readonly #held = new Map<string, Lease>()

  /** @param options.ttlMs Milliseconds for which a lease holds without being renewed. */
  constructor(journal: Journal, { owner, ttlMs }: { readonly owner: string; readonly ttlMs: number }) {
    this.#journal = journal
    this.#owner = owner
    this.#ttlMs = ttlMs
  }

  /** @param takeOver Whether it is taken from whoever holds it. */
  take(runId: string, takeOver = false): Lease {
    let last = this.#renew(runId, takeOver)
    const timer = setInterval(() => {
      last = this.#renew(runId)
    }, this.#ttlMs / RENEWALS)
    timer.unref?.()
    const lease: Lease = {
      isHeld: last,
      abandon: () => void this.#held.delete(runId),
      release: async () => {
        clearInterval(timer)
        try {
          // A renewal that is under way would take it again after it was given up.
          await within(
            RELEASE_MS,
            last.then(() => this.#release(runId, lease)),
          )
        } catch {
          // It runs out by itself.
        }
      },
    }
    this.#held.set(runId, lease)
    return lease
  }

  async #renew(runId: string, takeOver = false): Promise<boolean> {
    try {
      return (await this.#journal.lease(runId, this.#owner, this.#ttlMs, takeOver)) !== false
    } catch {
      return true
    }
  }

  /** The run may have been taken up again meanwhile: the lease is then the new one's. */
  async #release(runId: string, lease: Lease): Promise<void> {
    if (this.#held.get(runId) !== lease) return
    this.#held.delete(runId)
    await this.#journal.release(runId, this.#owner)
  }
}
