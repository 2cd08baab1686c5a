import { Semaphore } from './semaphore.ts'
import type { Tool } from './tool.ts'

/** The places in which the tool calls of an agent run, over all its runs: some for each tool, and some for all. */
export class Slots {
  readonly #all: Semaphore | undefined
  /** By name: tools that are made anew for each step are the same tool. */
  readonly #ofTool = new Map<string, { readonly places: number; readonly semaphore: Semaphore }>()

  /** @param concurrency How many calls run at once, over all tools. `Infinity` for any number. */
  constructor(concurrency: number) {
    this.#all = Number.isFinite(concurrency) ? new Semaphore(concurrency) : undefined
  }

  /** Waits for a place, or rejects when the signal is aborted. Call what comes back to leave. */
  async enter(tool: Tool, signal: AbortSignal): Promise<() => void> {
    const own = await this.#semaphoreOf(tool)?.enter(signal)
    try {
      const shared = await this.#all?.enter(signal)
      return () => {
        own?.()
        shared?.()
      }
    } catch (reason) {
      own?.()
      throw reason
    }
  }

  /** Whether a call of this tool never has to wait. */
  isFree(tool: Tool): boolean {
    return this.#all === undefined && !Number.isFinite(tool.concurrency)
  }

  #semaphoreOf({ name, concurrency: places }: Tool): Semaphore | undefined {
    if (!Number.isFinite(places)) return undefined
    const known = this.#ofTool.get(name)
    if (known?.places === places) return known.semaphore
    const semaphore = new Semaphore(places)
    this.#ofTool.set(name, { places, semaphore })
    return semaphore
  }
}
