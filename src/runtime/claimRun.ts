import { LoopchartError } from '../errors.ts'
import type { Journal } from '../journal/entry.ts'

/** The runs that are under way in this process, by the journal that keeps them. */
const running = new WeakMap<Journal, Set<string>>()

/**
 * Claims a run until the function that comes back is called. A button that is pressed twice must not resume a run twice: both would
 * run its tools and write its journal. (Between processes, that is the journal's affair.)
 *
 * @throws LoopchartError `run_active` where the run is under way.
 */
export function claimRun(journal: Journal, id: string): () => void {
  const ids = running.get(journal) ?? new Set()
  running.set(journal, ids)
  if (ids.has(id)) {
    throw new LoopchartError(
      'run_active',
      `The run "${id}" is under way in this process. Await it, or use another id.`,
    )
  }
  ids.add(id)
  return () => void ids.delete(id)
}
