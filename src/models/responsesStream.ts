import { fieldsOf } from '../messages/fields.ts'
import type { Delta } from '../messages/replyAccumulator.ts'
import { ModelError } from './modelError.ts'
import { type Item, itemsOf } from './responsesItems.ts'

/**
 * Collects the events of a streamed response into the response that they spell.
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */
export class ResponseAccumulator {
  #final: Item | undefined
  readonly #items: unknown[] = []

  /** Takes one parsed event. Throws the error that an event of type `error` tells of. */
  add(event: unknown): Delta {
    const { type, delta, item, response, ...rest } = fieldsOf(event)
    switch (type) {
      case 'response.output_text.delta':
        return { text: typeof delta === 'string' ? delta : '' }
      case 'response.output_item.done':
        this.#items.push(item)
        break
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        this.#final = fieldsOf(response)
        break
      case 'error':
        throw rest
    }
    return { text: '' }
  }

  /**
   * The whole response. Some servers leave its output out where they have streamed it.
   *
   * @throws ModelError `malformed_reply` where the last event is missing.
   */
  response(): Item {
    if (this.#final === undefined) {
      throw new ModelError('malformed_reply', 'The stream ended before the response was complete.', {
        retryable: true,
      })
    }
    return itemsOf(this.#final.output).length > 0 ? this.#final : { ...this.#final, output: this.#items }
  }
}
