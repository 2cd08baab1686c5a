import { hush, isThenable, within } from './thenables.ts'

/** How long a store may take to answer once a run has been stopped. Milliseconds. */
const GRACE_MS = 1000

/**
 * The answer of a store, unless it takes longer than its grace, a second, after the signal was aborted: one that hangs must
 * not keep a run from being stopped. Listens no longer once the answer is there.
 */
export async function withinGrace<Answer>(
  answer: Answer | PromiseLike<Answer>,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  if (!isThenable(answer) || signal === undefined) return answer
  const ended = new AbortController()
  const late = (): Error => new Error(`it did not answer within ${GRACE_MS} ms after the run was stopped`)
  const stopped = abortion(signal, ended.signal).then(() => within(GRACE_MS, answer, late))
  try {
    return await Promise.race([answer, stopped])
  } finally {
    ended.abort()
    hush(stopped)
  }
}

/** Settles when a signal is aborted; listens no longer once `ended` is. */
function abortion(signal: AbortSignal, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true, signal: ended })
  })
}
