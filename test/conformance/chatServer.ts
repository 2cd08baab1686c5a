import { type Answer, chunk, json, type Loopback, loopback, sse } from '../support/loopback.ts'
import { type Script, type SpokenTurn, turnAt } from './script.ts'

/** A reply of a chat completions server. */
export interface ChatReply {
  readonly content: string | null
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly finish: 'stop' | 'tool_calls' | 'length'
}

/** More requests than any test makes. */
const MAX_REQUESTS = 1000

/** Code points to a piece of a stream: few enough to cut names, escapes and numbers in two. */
const PIECE = 4

/** The reply of a model with tool calling to each turn, with ids that never repeat. */
export function nativeReplies(): (turn: SpokenTurn) => ChatReply {
  let calls = 0
  return (turn) => {
    if ('answer' in turn) return { content: turn.answer, finish: 'stop' }
    if ('empty' in turn) return { content: '', finish: 'stop' }
    return {
      content: turn.saying ?? null,
      finish: turn.cut ? 'length' : 'tool_calls',
      calls: turn.calls.map(({ name, arguments: args }) => ({
        id: `c${calls++}`,
        name,
        arguments: JSON.stringify(args),
      })),
    }
  }
}

/** Plays a script as chat completions, streamed where a request asks for that. */
export function chatServer(script: Script, replyTo: (turn: SpokenTurn) => ChatReply): Promise<Loopback> {
  let position = 0
  const answer: Answer = (response, request) => {
    const turn = turnAt(script, position++, request.body)
    if ('hangs' in turn) return
    const reply = replyTo(turn)
    const play = request.body.stream === true ? sse(chunksOf(reply)) : json(completionOf(reply))
    play(response, request)
  }
  return loopback(Array.from({ length: MAX_REQUESTS }, () => answer))
}

function completionOf({ content, calls, finish }: ChatReply) {
  const toolCalls = calls?.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  }))
  return {
    id: 'x',
    object: 'chat.completion',
    model: 'm',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, ...(toolCalls && { tool_calls: toolCalls }) },
        finish_reason: finish,
      },
    ],
    usage,
  }
}

function chunksOf({ content, calls = [], finish }: ChatReply): readonly unknown[] {
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(content ?? '').map((piece) => chunk({ content: piece })),
    ...calls.flatMap(({ id, name, arguments: args }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...pieces(args).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    chunk({}, finish),
    { id: 'x', object: 'chat.completion.chunk', model: 'm', choices: [], usage },
  ]
}

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

function pieces(text: string): readonly string[] {
  const points = [...text]
  return Array.from({ length: Math.ceil(points.length / PIECE) }, (_, i) =>
    points.slice(i * PIECE, (i + 1) * PIECE).join(''),
  )
}
