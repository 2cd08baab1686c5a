import { readdirSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { describeError } from '../../src/errors.ts'
import { type ModelReply, openaiChat } from '../../src/index.ts'
import { loopback } from '../support/loopback.ts'

/**
 * What providers have been seen to send, byte for byte, and what becomes of it. To add a quirk, add `NAME.sse` or
 * `NAME.json` to `replies/`, and `NAME.expected`: the part of the `ModelReply` that matters, or `{ "error": … }`.
 */
const folder = new URL('replies/', import.meta.url)
const files = readdirSync(folder).filter((file) => !file.endsWith('.expected'))

/** How the bytes arrive: all at once, one by one, or in two pieces parted in the middle of a character. */
const deliveries: Record<string, (bytes: Buffer) => Buffer[]> = {
  whole: (bytes) => [bytes],
  'byte by byte': (bytes) => Array.from(bytes, (byte) => Buffer.of(byte)),
  'cut in a character': (bytes) => {
    const inside = bytes.findIndex((byte) => (byte & 0xc0) === 0x80)
    const at = inside < 0 ? bytes.length >> 1 : inside
    return [bytes.subarray(0, at), bytes.subarray(at)]
  },
}

async function receive(file: string, pieces: readonly Buffer[]): Promise<ModelReply> {
  const streams = file.endsWith('.sse')
  await using server = await loopback([
    (response) => {
      response.writeHead(200, {
        'content-type': streams ? 'text/event-stream; charset=utf-8' : 'application/json',
      })
      void writeAll(response, pieces)
    },
  ])
  return await openaiChat('m', { baseURL: server.baseURL }).generate(
    { messages: [{ role: 'user', content: 'hi' }], tools: [], toolChoice: 'auto' },
    { signal: new AbortController().signal, ...(streams ? { onDelta: () => {} } : {}) },
  )
}

/** Each piece is on its way before the next one is written, so that the reader meets them apart. */
async function writeAll(response: ServerResponse, pieces: readonly Buffer[]): Promise<void> {
  response.socket?.setNoDelay(true)
  for (const piece of pieces) await new Promise((resolve) => response.write(piece, resolve))
  response.end()
}

describe.each(files)('%s', (file) => {
  const bytes = readFileSync(new URL(file, folder))
  const expected = JSON.parse(readFileSync(new URL(file.replace(/\.\w+$/, '.expected'), folder), 'utf8')) as {
    error?: object
  }

  it.each(Object.keys(deliveries))('is understood when it comes %s', async (delivery) => {
    const pieces = deliveries[delivery]?.(bytes) ?? []
    if (expected.error === undefined) {
      expect(await receive(file, pieces)).toMatchObject(expected)
    } else {
      const error = await receive(file, pieces).then(
        (reply) => expect.fail(`it was taken for a reply: ${JSON.stringify(reply)}`),
        describeError,
      )
      expect(error).toMatchObject(expected.error)
    }
  })
})
