import { AsyncLocalStorage } from 'node:async_hooks'

/** What a run takes from the process around it: time and chance. */
export interface Environment {
  /** Milliseconds since some moment: only differences say something. */
  now(): number
  /** Milliseconds since 1970, by which journals tell the time and `limits.time` is judged. It may be put back. */
  wallNow(): number
  /** Calls back once after so many milliseconds, unless the function that comes back is called before. */
  after(ms: number, callback: () => void): () => void
  /** A number of at least 0 and below 1. */
  random(): number
}

/** The process itself. The global timer, so that a test's fake clock governs it; that of `node:timers` escapes. */
const ownProcess: Environment = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
  random: () => Math.random(),
}

const environments = new AsyncLocalStorage<Environment>()

/** The environment in which the caller runs. */
export function environment(): Environment {
  return environments.getStore() ?? ownProcess
}

/**
 * Does some work, and everything that it awaits, in an environment of its own: how simulated runs pass hours in a
 * moment, beside others that do not. Only Loopchart's own waits follow it, not timers of the user's.
 */
export function inEnvironment<Result>(own: Environment, work: () => Result): Result {
  return environments.run(own, work)
}
