import { setImmediate, setTimeout } from 'node:timers/promises'

/** What a promise came to. */
export type Settled<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly thrown: unknown }

/** What to do with work that is at rest: go on waiting for it, or give it up. */
export type AtRest = 'wait' | 'give up'

/** How long one waits for what neither a script nor a clock holds up: real input and output of the user's. */
const PAUSE_MS = 1

/**
 * Follows work to its end. Whenever everything that was ready has run and the work has not ended, `atRest` is asked:
 * it may pass virtual time, by which the work goes on.
 *
 * @param atRest Told for how many real milliseconds nothing has moved. Says whether it moved something.
 * @returns `undefined` where the work was given up.
 */
export async function settle<Value>(
  work: Promise<Value>,
  atRest: (stillForMs: number) => 'moved' | AtRest,
): Promise<Settled<Value> | undefined> {
  let settled: Settled<Value> | undefined
  work.then(
    (value) => {
      settled = { ok: true, value }
    },
    (thrown) => {
      settled = { ok: false, thrown }
    },
  )
  let stillForMs = 0
  for (;;) {
    // All promises that are ready have run when this comes back.
    await turn()
    if (settled !== undefined) return settled
    const answer = atRest(stillForMs)
    if (answer === 'give up') return undefined
    if (answer === 'moved') {
      stillForMs = 0
    } else {
      await setTimeout(PAUSE_MS)
      stillForMs += PAUSE_MS
    }
  }
}

/** Resolves when all promises that are ready have run. */
export function turn(): Promise<void> {
  return setImmediate()
}
