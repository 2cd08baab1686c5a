import { Semaphore } from './semaphore.ts'
import type { Tool } from './tool.ts'

/** The places in which the tool calls of an agent run, over all its runs: some for each tool, and some for all. */
export class Slots {
  readonly #all: Semaphore | undefined
  readonly #ofTool = new WeakMap<Tool, Semaphore>()

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

  #semaphoreOf(tool: Tool): Semaphore | undefined {
    if (!Number.isFinite(tool.concurrency)) return undefined
    const semaphore = this.#ofTool.get(tool) ?? new Semaphore(tool.concurrency)
    this.#ofTool.set(tool, semaphore)
    return semaphore
  }
}
