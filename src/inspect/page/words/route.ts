/** Where the page is: at the list alone, or at a run, perhaps at an event of its past. */
export interface Route {
  readonly runId?: string
  /** The index of the last event that is taken into account; absent for the newest one. */
  readonly at?: number
}

/** `#/run/ID/AT`. Anything else leads to the list. */
export function routeOf(hash: string): Route {
  const [, runId, at] = /^#\/run\/([^/]+)(?:\/(\d+))?$/.exec(hash) ?? []
  if (runId === undefined) return {}
  try {
    return { runId: decodeURIComponent(runId), ...(at === undefined ? {} : { at: Number(at) }) }
  } catch {
    return {}
  }
}

export function hashOf({ runId, at }: Route): string {
  if (runId === undefined) return '#/'
  return `#/run/${encodeURIComponent(runId.toWellFormed())}${at === undefined ? '' : `/${at}`}`
}
