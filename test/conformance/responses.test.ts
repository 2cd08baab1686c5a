import { expect } from 'vitest'
import { responses } from '../../src/index.ts'
import { type Answer, json, loopback, sse } from '../support/loopback.ts'
import { describeLoop } from './behaviours.ts'
import { type MakeModel, providerAt, type SpokenTurn, turnAt } from './script.ts'

/** More requests than any test makes. */
const MAX_REQUESTS = 1000

const makeModel: MakeModel = async (script) => {
  let position = 0
  const answer: Answer = (response, request) => {
    const turn = turnAt(script, position, request.body)
    if (!('hangs' in turn)) {
      const whole = responseTo(turn, position)
      const play = request.body.stream === true ? sse(eventsOf(whole)) : json(whole)
      play(response, request)
    }
    position++
  }
  const server = await loopback(Array.from({ length: MAX_REQUESTS }, () => answer))
  return providerAt(server, responses('gpt-5', { baseURL: server.baseURL }))
}

function responseTo(turn: SpokenTurn, position: number) {
  const isCut = 'cut' in turn && turn.cut === true
  return {
    id: `resp_${position}`,
    object: 'response',
    model: 'gpt-5',
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output: outputOf(turn, position),
    usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
  }
}

function outputOf(turn: SpokenTurn, position: number): readonly object[] {
  if ('empty' in turn) return []
  if ('answer' in turn) return [messageOf(turn.answer)]
  return [
    { type: 'reasoning', id: `rs_${position}`, summary: [], encrypted_content: 'secret' },
    ...(turn.saying === undefined ? [] : [messageOf(turn.saying)]),
    ...turn.calls.map(({ name, arguments: args }, i) => ({
      type: 'function_call',
      id: `fc_${position}_${i}`,
      call_id: `c${position}_${i}`,
      name,
      arguments: JSON.stringify(args),
      status: 'completed',
    })),
  ]
}

function messageOf(text: string): object {
  return {
    type: 'message',
    id: 'msg',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  }
}

function eventsOf(whole: ReturnType<typeof responseTo>): readonly object[] {
  return [
    { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } },
    ...whole.output.flatMap((item, output_index) => [
      ...('content' in item
        ? [{ type: 'response.output_text.delta', output_index, delta: textOf(item) }]
        : []),
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: `response.${whole.status}`, response: whole },
  ]
}

function textOf(item: object): string {
  return (item as { content: { text: string }[] }).content[0]?.text ?? ''
}

/** Every result follows a call of its id, and every call has one. */
function checkRequest(body: unknown): void {
  const { input } = body as { input: { type?: string; call_id?: string }[] }
  const calls = input.filter(({ type }) => type === 'function_call').map(({ call_id }) => call_id)
  const results = input.filter(({ type }) => type === 'function_call_output').map(({ call_id }) => call_id)
  expect(new Set(calls).size).toBe(calls.length)
  expect(results).toEqual(calls)
}

describeLoop('responses', makeModel, { checkRequest })
describeLoop('responses, streamed', makeModel, { checkRequest, streamed: true })
