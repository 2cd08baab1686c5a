import type { TakenEdge } from './runView.ts'

/**
 * The edges of the last step of the machine: the one that something set off, and those that followed by themselves. What
 * lies between them are the transient states.
 */
export function lastMove(trail: readonly TakenEdge[]): readonly TakenEdge[] {
  const begin = trail.findLastIndex(({ event }) => event !== 'always')
  return trail.slice(Math.max(begin, 0))
}
