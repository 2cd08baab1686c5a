import { expect } from 'vitest'
import { findViolations, type Message, openaiChat } from '../../src/index.ts'
import { describeLoop } from './behaviours.ts'
import { chatServer, nativeReplies } from './chatServer.ts'
import { type MakeModel, providerAt } from './script.ts'

const makeModel: MakeModel = async (script) => {
  const server = await chatServer(script, nativeReplies())
  return providerAt(server, openaiChat('m', { baseURL: server.baseURL }))
}

function checkRequest(body: unknown): void {
  expect(findViolations((body as { messages: Message[] }).messages)).toEqual([])
}

describeLoop('openaiChat', makeModel, { checkRequest })
describeLoop('openaiChat, streamed', makeModel, { checkRequest, streamed: true })
