import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionMessageFunctionToolCall,
} from 'openai/resources/chat/completions'
import type { CompletionUsage } from 'openai/resources/completions'
import type { StandInReply } from './standIn.ts'

/** Characters that a streamed piece of text or arguments has at most. */
const PIECE_LENGTH = 12

const BYTES_PER_TOKEN = 4

/** What all parts of one completion share. */
export interface CompletionHead {
  readonly id: string
  /** Seconds since 1970. */
  readonly created: number
  readonly model: string
}

/** A whole completion. */
export function completionOf(
  head: CompletionHead,
  reply: StandInReply,
  usage: CompletionUsage,
): ChatCompletion {
  return {
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: reply.text === '' ? null : reply.text,
          refusal: null,
          ...(reply.toolCalls.length === 0 ? {} : { tool_calls: reply.toolCalls.map(ownCall) }),
        },
        logprobs: null,
        finish_reason: finishOf(reply),
      },
    ],
    usage,
  }
}

/**
 * The chunks of a streamed completion: the role, the content or the calls in pieces, the finish reason, and the usage
 * where it was asked for.
 */
export function* chunksOf(
  head: CompletionHead,
  reply: StandInReply,
  usage: CompletionUsage | undefined,
): Generator<ChatCompletionChunk> {
  const chunk = (choices: ChatCompletionChunk.Choice[]): ChatCompletionChunk => ({
    ...head,
    object: 'chat.completion.chunk',
    choices,
    ...(usage === undefined ? {} : { usage: null }),
  })
  const delta = (
    content: ChatCompletionChunk.Choice.Delta,
    finish: ChatCompletionChunk.Choice['finish_reason'] = null,
  ): ChatCompletionChunk => chunk([{ index: 0, delta: content, logprobs: null, finish_reason: finish }])

  yield delta({ role: 'assistant', content: reply.toolCalls.length === 0 ? '' : null, refusal: null })
  for (const content of piecesOf(reply.text)) yield delta({ content })
  for (const [index, call] of reply.toolCalls.entries()) {
    const { id, type, function: called } = call
    yield delta({ tool_calls: [{ index, id, type, function: { name: called.name, arguments: '' } }] })
    for (const piece of piecesOf(called.arguments)) {
      yield delta({ tool_calls: [{ index, function: { arguments: piece } }] })
    }
  }
  yield delta({}, finishOf(reply))
  if (usage !== undefined) yield { ...chunk([]), usage }
}

/**
 * An estimate that is the same for the same request and reply: a token for every 4 bytes of UTF-8, rounded up. The
 * request counts with its messages and tools as JSON, the reply with its text and the names and arguments of its calls.
 */
export function usageOf(body: Readonly<Record<string, unknown>>, reply: StandInReply): CompletionUsage {
  const { messages, tools } = body
  const calls = reply.toolCalls.map((call) => call.function.name + call.function.arguments)
  const prompt = tokensIn(JSON.stringify({ messages, tools }))
  const completion = tokensIn(reply.text + calls.join(''))
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  }
}

function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

function finishOf(reply: StandInReply): 'tool_calls' | 'stop' {
  return reply.toolCalls.length > 0 ? 'tool_calls' : 'stop'
}

function ownCall(call: StandInReply['toolCalls'][number]): ChatCompletionMessageFunctionToolCall {
  return { id: call.id, type: call.type, function: { ...call.function } }
}

/** Cut between characters, never within a surrogate pair. */
function piecesOf(text: string): string[] {
  const characters = [...text]
  const count = Math.ceil(characters.length / PIECE_LENGTH)
  return Array.from({ length: count }, (_, index) =>
    characters.slice(index * PIECE_LENGTH, (index + 1) * PIECE_LENGTH).join(''),
  )
}
