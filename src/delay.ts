/** The longest wait that a timer of Node can hold, some 24.8 days; a longer one would fire at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1

/**
 * Resolves after `ms` milliseconds, or rejects with the signal's reason when that is aborted. It uses the global
 * timer, so that a test's fake clock governs it; the one of `node:timers/promises` escapes fake clocks.
 */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal.addEventListener('abort', abort, { once: true })
  })
}
