import type { Outcome } from '../../machines/outcome.ts'

/** An outcome without what differs from run to run. */
export function outcomeText<Output>(outcome: Outcome<Output> | undefined): string {
  if (outcome === undefined) return 'none'
  const { runId: _runId, durationMs: _durationMs, ...rest } = outcome
  return JSON.stringify(rest)
}

/** How much of two texts is shown around the place where they part, in characters. */
const SHOWN_BEFORE = 60
const SHOWN_AFTER = 100

/** Where two texts part, in words. */
export function difference(was = '', is = ''): string {
  let i = 0
  while (i < was.length && was[i] === is[i]) i++
  const [before, after] = [was, is].map((text) => {
    const start = Math.max(0, i - SHOWN_BEFORE)
    return `${start > 0 ? '…' : ''}${text.slice(start, i + SHOWN_AFTER)}${i + SHOWN_AFTER < text.length ? '…' : ''}`
  })
  return `another: ${after}\n          where it was: ${before}`
}
