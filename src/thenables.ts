import { environment } from './environment.ts'

/** Whether a value is a promise, or behaves as one. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === 'object' || typeof value === 'function') &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

/** Takes the word of a promise that nobody asked for: a rejection that is not heard would end the process. */
export function hush(value: unknown): void {
  if (isThenable(value)) Promise.resolve(value).catch(() => {})
}

/**
 * The value of a promise, unless it takes longer than so many milliseconds: then it fails with what `late` makes. Once
 * the signal is aborted nobody waits any longer, and no timer is left.
 */
export async function within<Value>(
  ms: number,
  promise: PromiseLike<Value>,
  late = (): Error => new DOMException(`nothing came within ${ms} ms`, 'TimeoutError'),
  signal?: AbortSignal,
): Promise<Value> {
  let stopTimer: (() => void) | undefined
  let stopListening: (() => void) | undefined
  const tooLate = new Promise<never>((_resolve, reject) => {
    stopTimer = environment().after(ms, () => reject(late()))
  })
  const givenUp = new Promise<never>((_resolve, reject) => {
    if (signal === undefined) return
    const giveUp = (): void => reject(signal.reason)
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    stopListening = () => signal.removeEventListener('abort', giveUp)
  })
  try {
    return await Promise.race([promise, tooLate, givenUp])
  } finally {
    stopTimer?.()
    stopListening?.()
  }
}
