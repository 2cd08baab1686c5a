import { LoopchartError } from '../errors.ts'
import type { RunEvent } from '../journal/entry.ts'
import type { UserMessage } from '../messages/types.ts'

type SentEvent = Extract<RunEvent, { type: 'sent' }>

/** Where messages for a run under way wait until it takes them in. */
export class Inbox {
  readonly #waiting = new Map<RunEvent, PromiseWithResolvers<void>>()
  #deliver: ((event: SentEvent) => void) | undefined
  #hasEnded = false

  /**
   * Resolves once the message is part of the run, and rejects with `run_ended` where the run has ended or ends before
   * that.
   */
  send(message: UserMessage): Promise<void> {
    const event: SentEvent = { type: 'sent', message }
    const taken = Promise.withResolvers<void>()
    // Who does not await it has not asked to be told.
    taken.promise.catch(() => {})
    if (this.#hasEnded) {
      taken.reject(ended())
      return taken.promise
    }
    this.#waiting.set(event, taken)
    this.#deliver?.(event)
    return taken.promise
  }

  /** From now on messages are delivered; those that have come already are so at once. */
  open(deliver: (event: SentEvent) => void): void {
    this.#deliver = deliver
    for (const event of this.#waiting.keys()) deliver(event as SentEvent)
  }

  /** The run has taken an event in. */
  taken(event: RunEvent): void {
    this.#waiting.get(event)?.resolve()
    this.#waiting.delete(event)
  }

  /** The run has ended, or waits for a person. */
  close(): void {
    this.#hasEnded = true
    for (const { reject } of this.#waiting.values()) reject(ended())
    this.#waiting.clear()
  }
}

function ended(): LoopchartError {
  return new LoopchartError(
    'run_ended',
    'The run has ended, so it takes no more messages. Go on with a new run: ' +
      "agent.run([...outcome.transcript, { role: 'user', content: '…' }]).",
  )
}
