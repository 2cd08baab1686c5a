import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { openaiChat } from '../../src/index.ts'
import { httpFetch } from '../../src/models/httpFetch.ts'
import { type Answer, completion, json, loopback } from '../support/loopback.ts'

describe('the fetch of the models', () => {
  it('sends method, headers and text, and gives back status, headers and body', async () => {
    await using server = await loopback([json({ a: 'ä' }, 418, { 'x-b': 'c' })])
    const response = await httpFetch(`${server.baseURL}/x`, {
      method: 'POST',
      headers: new Headers({ 'x-d': 'e' }),
      body: '{"f":"中"}',
    })
    expect(response.status).toBe(418)
    expect(response.headers.get('x-b')).toBe('c')
    expect(await response.json()).toEqual({ a: 'ä' })
    expect(server.requests[0]).toMatchObject({
      body: { f: '中' },
      headers: { 'x-d': 'e', 'accept-encoding': 'identity' },
    })
  })

  it('joins characters that were cut in two on the way', async () => {
    const bytes = Buffer.from(JSON.stringify({ text: '天气😀' }))
    const split: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const writeFrom = (i: number): void => {
        if (i === bytes.length) response.end()
        else response.write(bytes.subarray(i, i + 1), () => writeFrom(i + 1))
      }
      writeFrom(0)
    }
    await using server = await loopback([split])
    expect(await (await httpFetch(server.baseURL)).json()).toEqual({ text: '天气😀' })
  })

  it('rejects where the connection is cut in the middle of a body', async () => {
    const cut: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 })
      response.write('{"a":', () => response.destroy())
    }
    await using server = await loopback([cut])
    await expect(httpFetch(server.baseURL)).rejects.toThrow()
  })

  it('follows a redirect as the global fetch does', async () => {
    const redirect: Answer = (response) => {
      response.writeHead(307, { location: '/v1/elsewhere' }).end()
    }
    await using server = await loopback([redirect, redirect, json({ there: true })])
    const response = await httpFetch(server.baseURL, { method: 'POST', body: '{"kept":1}' })
    expect(await response.json()).toEqual({ there: true })
    expect(server.requests.at(-1)?.body).toEqual({ kept: 1 })
  })

  it('may have nothing in its body', async () => {
    await using server = await loopback([(response) => response.writeHead(204).end()])
    expect((await httpFetch(server.baseURL)).body).toBeNull()
  })

  it.each([999, 600])('rejects the status %d, which no response can have', async (status) => {
    await using server = await loopback([(response) => response.writeHead(status).end()])
    await expect(httpFetch(server.baseURL)).rejects.toThrow(`status ${status}`)
  })

  it('rejects a switch to another protocol', async () => {
    await using server = await loopback([
      (response) =>
        void response.socket?.end(
          'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
        ),
    ])
    await expect(httpFetch(server.baseURL)).rejects.toThrow(/another protocol/)
  })

  it('may have an empty reset', async () => {
    await using server = await loopback([(response) => response.writeHead(205).end()])
    expect((await httpFetch(server.baseURL)).status).toBe(205)
  })

  it('reads what was compressed although nobody asked', async () => {
    await using server = await loopback([
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        response.end(gzipSync('{"a":1}'))
      },
    ])
    expect(await (await httpFetch(server.baseURL)).json()).toEqual({ a: 1 })
  })

  it('is ended by its signal, before or after it began', async () => {
    await using server = await loopback([() => {}])
    await expect(httpFetch(server.baseURL, { signal: AbortSignal.abort() })).rejects.toThrow()
    const controller = new AbortController()
    const pending = httpFetch(server.baseURL, { signal: controller.signal })
    controller.abort()
    await expect(pending).rejects.toThrow()
  })

  it('can be exchanged', async () => {
    let calls = 0
    await using server = await loopback([completion({ content: 'hi' })])
    const model = openaiChat('m', {
      baseURL: server.baseURL,
      fetch: (input, init) => {
        calls++
        return fetch(input, init)
      },
    })
    await model.generate(
      { messages: [{ role: 'user', content: 'hi' }], tools: [], toolChoice: 'auto' },
      { signal: new AbortController().signal },
    )
    expect(calls).toBe(1)
  })
})
