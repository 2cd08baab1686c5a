import { expect } from 'vitest'
import { findViolations, type Message, openaiChat } from '../../src/index.ts'
import { jsonProtocol } from '../../src/models/jsonProtocol.ts'
import { describeLoop } from './behaviours.ts'
import { type ChatReply, chatServer } from './chatServer.ts'
import { type MakeModel, oneCallAtATime } from './script.ts'

const makeModel: MakeModel = async (script) => {
  const server = await chatServer(oneCallAtATime(script), (turn): ChatReply => {
    if ('answer' in turn) {
      return { content: JSON.stringify({ thought: 'I know.', final_answer: turn.answer }), finish: 'stop' }
    }
    if ('empty' in turn) return { content: '', finish: 'stop' }
    const [call] = turn.calls
    const content = JSON.stringify({
      thought: turn.saying ?? null,
      action: call?.name,
      action_input: call?.arguments,
    })
    return turn.cut ? { content: content.slice(0, -1), finish: 'length' } : { content, finish: 'stop' }
  })
  return {
    model: jsonProtocol(openaiChat('m', { baseURL: server.baseURL })),
    get requests() {
      return server.requests.map(({ body }) => body)
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** Nothing in it that a server without tool calling would refuse. */
function checkRequest(body: unknown): void {
  const { messages } = body as { messages: Message[] }
  expect(findViolations(messages)).toEqual([])
  expect(messages.map(({ role }) => role[0]).join('')).toMatch(/^s(ua)*u$/)
  expect(JSON.stringify(body)).not.toMatch(/"tool(s|_choice|_calls|_call_id)":/)
}

describeLoop('jsonProtocol', makeModel, { checkRequest })
describeLoop('jsonProtocol, streamed', makeModel, { checkRequest, streamed: true })
