import { type CounterName, counters } from './tokenCounters.ts'

/** What it costs to load a counter in a process that has none. */
export interface Load {
  readonly ms: number
  /** By which the process grew, garbage collected. */
  readonly megabytes: number
}

/** Runs in a process of its own, with the name of a counter as its argument, and prints a `Load` as JSON. */
const load = counters[process.argv[2] as CounterName]
globalThis.gc?.()
const { rss } = process.memoryUsage()
const startedAt = performance.now()
const count = await load()
const ms = performance.now() - startedAt
globalThis.gc?.()
const result: Load = { ms, megabytes: (process.memoryUsage().rss - rss) / 1e6 }
if (count('hello') !== 1) throw new Error('The counter does not count.')
console.log(JSON.stringify(result))
