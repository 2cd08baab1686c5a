import type { OpenAI } from 'openai'

/**
 * What the model of the benchmark says. A run of `steps` steps is `steps` model calls: each asks for one addition,
 * the last one answers. `position` is the number of the call in its run, from 0.
 */

export const MODEL = 'bench'

const CREATED = 1_700_000_000
const usage: OpenAI.CompletionUsage = { prompt_tokens: 120, completion_tokens: 24, total_tokens: 144 }

export function finalText(steps: number): string {
  return `That makes ${steps - 1} in all.`
}

/** The reply in one piece. */
export function completionOf(position: number, steps: number): OpenAI.ChatCompletion {
  const { text, calls } = replyOf(position, steps)
  const message: OpenAI.ChatCompletionMessage = { role: 'assistant', content: text, refusal: null }
  return {
    id: `chatcmpl-${position}`,
    object: 'chat.completion',
    created: CREATED,
    model: MODEL,
    choices: [
      {
        index: 0,
        message: calls.length === 0 ? message : { ...message, tool_calls: calls },
        finish_reason: calls.length === 0 ? 'stop' : 'tool_calls',
        logprobs: null,
      },
    ],
    usage,
  }
}

/** The same reply as a provider streams it: text word by word, then the call with its arguments in pieces. */
export function chunksOf(position: number, steps: number): readonly OpenAI.ChatCompletionChunk[] {
  const { text, calls } = replyOf(position, steps)
  const deltas: readonly Delta[] = [
    { role: 'assistant', content: '' },
    ...pieces(text, /\S+\s*/g).map((content): Delta => ({ content })),
    ...calls.flatMap(({ id, type, function: { name, arguments: args } }, index): readonly Delta[] => [
      { tool_calls: [{ index, id, type, function: { name, arguments: '' } }] },
      ...pieces(args, /.{1,6}/g).map(
        (piece): Delta => ({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
    ]),
  ]
  const head = {
    id: `chatcmpl-${position}`,
    object: 'chat.completion.chunk',
    created: CREATED,
    model: MODEL,
  } as const
  const finish = calls.length === 0 ? 'stop' : 'tool_calls'
  return [
    ...deltas.map((delta) => ({ ...head, choices: [{ index: 0, delta, finish_reason: null }] })),
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { ...head, choices: [], usage },
  ]
}

type Delta = OpenAI.ChatCompletionChunk.Choice.Delta

interface Reply {
  readonly text: string
  readonly calls: OpenAI.ChatCompletionMessageFunctionToolCall[]
}

function replyOf(position: number, steps: number): Reply {
  if (position === steps - 1) return { text: finalText(steps), calls: [] }
  const args = JSON.stringify({ a: position, b: 1 })
  const call = {
    id: `call_${position}`,
    type: 'function',
    function: { name: 'add', arguments: args },
  } as const
  return { text: 'I add one more to it.', calls: [call] }
}

function pieces(text: string, pattern: RegExp): readonly string[] {
  return text.match(pattern) ?? []
}
