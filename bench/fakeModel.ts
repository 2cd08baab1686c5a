import type { OpenAI } from 'openai'
import { normalizeReply } from '../src/messages/normalizeReply.ts'
import type { ModelReply } from '../src/messages/reply.ts'
import type { Model } from '../src/models/model.ts'
import { completionOf, MODEL } from './replies.ts'

interface Reply {
  /** As Loopchart's models give it. */
  readonly reply: ModelReply
  /** As the SDK gives it. */
  readonly message: OpenAI.ChatCompletionMessage
}

/** A model in this process. Its replies are made beforehand, so that a call costs next to nothing. */
export class FakeModel implements Model {
  readonly id: string = MODEL
  readonly #replies: readonly Reply[]
  calls = 0

  constructor(steps: number) {
    this.#replies = Array.from({ length: steps }, (_, at) => replyOf(completionOf(at, steps)))
  }

  async generate(): Promise<ModelReply> {
    return this.#next().reply
  }

  async ask(): Promise<OpenAI.ChatCompletionMessage> {
    return this.#next().message
  }

  #next(): Reply {
    const reply = this.#replies[this.calls++ % this.#replies.length]
    if (reply === undefined) throw new Error('The fake model has no replies.')
    return reply
  }
}

function replyOf(completion: OpenAI.ChatCompletion): Reply {
  const message = completion.choices[0]?.message
  if (message === undefined) throw new Error('The completion holds no choices.')
  return { reply: normalizeReply(completion), message }
}
