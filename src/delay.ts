import { environment } from './environment.ts'

/** The longest wait that a timer of Node can hold, some 24.8 days; a longer one would fire at once. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1

/** Resolves after `ms` milliseconds, or rejects with the signal's reason when that is aborted. */
export function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const abort = (): void => {
      stopWaiting()
      reject(signal.reason)
    }
    const stopWaiting = environment().after(ms, () => {
      signal.removeEventListener('abort', abort)
      resolve()
    })
    signal.addEventListener('abort', abort, { once: true })
  })
}
