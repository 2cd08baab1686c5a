import type { Attributes } from '@opentelemetry/api'
import type { ModelReply } from '../messages/reply.ts'
import type { ContentPart, Message, ToolCall, UserMessage } from '../messages/types.ts'
import type { ModelRequest } from '../models/model.ts'
import { ATTRIBUTES } from './attributes.ts'

/** A part of a message in the words of the conventions. */
type Part = Readonly<Record<string, unknown>>

export function requestContent({ messages, tools }: ModelRequest): Attributes {
  const instructions = messages.filter(isInstruction).map(({ content }) => text(content))
  const others = messages.filter((message) => !isInstruction(message)).map(messageParts)
  return {
    ...(instructions.length === 0 ? {} : { [ATTRIBUTES.instructions]: JSON.stringify(instructions) }),
    [ATTRIBUTES.inputMessages]: JSON.stringify(others),
    ...(tools.length === 0 ? {} : { [ATTRIBUTES.toolDefinitions]: JSON.stringify(tools.map(definition)) }),
  }
}

export function replyContent({ text: said, toolCalls, finish }: ModelReply): Attributes {
  const parts = [...(said === '' ? [] : [text(said)]), ...toolCalls.map(callPart)]
  const message = { role: 'assistant', parts, finish_reason: finish }
  return { [ATTRIBUTES.outputMessages]: JSON.stringify([message]) }
}

export function answerContent(answer: unknown): Attributes {
  const said = typeof answer === 'string' ? answer : (JSON.stringify(answer) ?? '')
  const message = { role: 'assistant', parts: [text(said)], finish_reason: 'stop' }
  return { [ATTRIBUTES.outputMessages]: JSON.stringify([message]) }
}

function messageParts(message: Message): Part {
  switch (message.role) {
    case 'user':
      return { role: 'user', parts: userParts(message) }
    case 'assistant': {
      const said = message.content === null || message.content === '' ? [] : [text(message.content)]
      return { role: 'assistant', parts: [...said, ...(message.tool_calls ?? []).map(callPart)] }
    }
    case 'tool': {
      const { tool_call_id: id, content: response } = message
      return { role: 'tool', parts: [{ type: 'tool_call_response', id, response }] }
    }
    default:
      return { role: 'system', parts: [text(message.content)] }
  }
}

function userParts({ content }: UserMessage): readonly Part[] {
  return typeof content === 'string' ? [text(content)] : content.map(contentPart)
}

/** Images, sounds and files are named only: telemetry is no place for them. */
function contentPart(part: ContentPart): Part {
  return part.type === 'text' ? text(part.text as string) : { type: part.type }
}

function callPart({ id, function: called }: ToolCall): Part {
  return { type: 'tool_call', id, name: called.name, arguments: called.arguments }
}

function definition({ name, description, parameters }: ModelRequest['tools'][number]): Part {
  return { type: 'function', name, description, parameters }
}

function isInstruction(message: Message): message is Extract<Message, { role: 'system' | 'developer' }> {
  return message.role === 'system' || message.role === 'developer'
}

function text(content: string): Part {
  return { type: 'text', content }
}
