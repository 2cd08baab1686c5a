import type { EdgeName } from '../machines/edgeNames.ts'

/** What tells an edge from all others of the agent's chart: `parsing|always|hasCalls|executingTools`. */
export function edgeKey({ from, event, guard, to }: EdgeName): string {
  return [from, event, guard ?? '', to ?? ''].join('|')
}
