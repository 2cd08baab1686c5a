import { fieldsOf } from '../messages/fields.ts'
import type { Delta } from '../messages/replyAccumulator.ts'
import { ModelError } from '../models/modelError.ts'
import type { ReplyPart } from './replyParts.ts'

/** A text or a stretch of reasoning that is still being written. */
interface OpenBlock {
  readonly type: 'text' | 'reasoning'
  text: string
  providerMetadata?: unknown
}

/** Collects the parts of a stream into the result that `doGenerate` would have given. */
export class StreamedResult {
  readonly #content: (ReplyPart | OpenBlock)[] = []
  readonly #blocks = new Map<string, OpenBlock>()
  #finish: ReplyPart | undefined
  #response: ReplyPart | undefined

  /** Takes one part. Throws the error that a part of type `error` tells of. */
  add(raw: unknown): Delta {
    const part = fieldsOf(raw)
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return { text: this.#write('text', part) }
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        this.#write('reasoning', part)
        break
      case 'tool-call':
      case 'custom':
        this.#content.push(part)
        break
      case 'response-metadata':
        this.#response = { ...this.#response, ...part }
        break
      case 'finish':
        this.#finish = part
        break
      case 'error':
        throw part.error
    }
    return { text: '' }
  }

  /** @throws ModelError `malformed_reply` where the stream broke off. */
  result(): object {
    if (this.#finish === undefined) {
      throw new ModelError('malformed_reply', 'The stream ended before the reply was complete.', {
        retryable: true,
      })
    }
    const { finishReason, usage } = this.#finish
    return { content: this.#content, finishReason, usage, response: this.#response }
  }

  /** Goes on with the block of that id; what its start, its pieces and its end say of it, the last one says best. */
  #write(type: OpenBlock['type'], { type: event, id, delta, providerMetadata }: ReplyPart): string {
    const key = `${type} ${String(id)}`
    let block = event === `${type}-start` ? undefined : this.#blocks.get(key)
    if (block === undefined) {
      block = { type, text: '' }
      this.#blocks.set(key, block)
      this.#content.push(block)
    }
    const written = typeof delta === 'string' ? delta : ''
    block.text += written
    if (providerMetadata !== undefined) block.providerMetadata = providerMetadata
    return written
  }
}
