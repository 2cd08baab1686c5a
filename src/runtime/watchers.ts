import { show, type Watcher } from './notify.ts'

/** Who watches all runs of an agent. */
export class Watchers {
  readonly #watchers = new Set<{ readonly watcher: Watcher }>()

  /** Shows events to a watcher until the function that comes back is called. */
  add(watcher: Watcher): () => void {
    // An entry of its own: who watches twice is shown everything twice, and can stop once.
    const entry = { watcher }
    this.#watchers.add(entry)
    return () => void this.#watchers.delete(entry)
  }

  /** One watcher for a run that begins: its own, where it has one, and everybody else. Nobody where there is none. */
  with(own: Watcher | undefined): Watcher | undefined {
    if (this.#watchers.size === 0) return own
    return (event) => {
      for (const { watcher } of [...this.#watchers]) show(watcher, event, 'The watcher of agent.watch')
      return own?.(event)
    }
  }
}
