import { LoopchartError } from '../errors.ts'
import type { Journal } from '../journal/entry.ts'

/** The runs that are under way in this process, by the journal that keeps them; each with what resolves when it is not any more. */
const running = new WeakMap<Journal, Map<string, PromiseWithResolvers<void>>>()

/**
 * Claims a run until the function that comes back is called. A button that is pressed twice must not resume a run twice:
 * both would run its tools and write its journal. (Between processes, that is the journal's affair.)
 *
 * @throws LoopchartError `run_active` where the run is under way.
 */
export function claimRun(journal: Journal, id: string): () => void {
  const claims = running.get(journal) ?? new Map<string, PromiseWithResolvers<void>>()
  running.set(journal, claims)
  if (claims.has(id)) {
    throw new LoopchartError(
      'run_active',
      `The run "${id}" is under way in this process. Await it, resume it with whenBusy: "queue", or use another id.`,
    )
  }
  const claim = Promise.withResolvers<void>()
  claims.set(id, claim)
  return () => {
    claims.delete(id)
    claim.resolve()
  }
}

/**
 * Claims a run once nobody else in this process does.
 *
 * @returns As `claimRun`. Rejects with `run_active` where the signal is aborted before that.
 */
export async function claimRunInTurn(journal: Journal, id: string, signal: AbortSignal): Promise<() => void> {
  const stopped = Promise.withResolvers<void>()
  const stop = (): void => stopped.resolve()
  signal.addEventListener('abort', stop, { once: true })
  try {
    for (;;) {
      const claim = running.get(journal)?.get(id)
      if (claim === undefined || signal.aborted) return claimRun(journal, id)
      await Promise.race([claim.promise, stopped.promise])
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
