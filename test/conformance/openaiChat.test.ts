import { expect } from 'vitest'
import { findViolations, type Message, openaiChat } from '../../src/index.ts'
import { describeLoop } from './behaviours.ts'
import { type ChatReply, chatServer } from './chatServer.ts'
import type { MakeModel } from './script.ts'

const makeModel: MakeModel = async (script) => {
  let calls = 0
  const server = await chatServer(script, (turn): ChatReply => {
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
  })
  return {
    model: openaiChat('m', { baseURL: server.baseURL }),
    get requests() {
      return server.requests.map(({ body }) => body)
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

function checkRequest(body: unknown): void {
  expect(findViolations((body as { messages: Message[] }).messages)).toEqual([])
}

describeLoop('openaiChat', makeModel, { checkRequest })
describeLoop('openaiChat, streamed', makeModel, { checkRequest, streamed: true })
