import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'

/**
 * A real MCP server for tests: `node server.ts stdio <log>` or `node server.ts http <log>`, which prints its address. What
 * happens to its calls is written to the log, line by line.
 */
const [kind, log] = process.argv.slice(2)

const noInput = { type: 'object' } as const

const tools: readonly Tool[] = [
  {
    name: 'add',
    description: 'Adds two numbers.',
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number', default: 1 } },
      required: ['a'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'files/read.text',
    description: 'Reads.',
    inputSchema: noInput,
    annotations: { idempotentHint: true },
  },
  {
    name: 'files_read.text',
    inputSchema: noInput,
    annotations: { title: 'Reads too', destructiveHint: false },
  },
  { name: 'files_delete', inputSchema: noInput },
  { name: 'everything', inputSchema: noInput },
  { name: 'structured', inputSchema: noInput, outputSchema: noInput },
  { name: 'nothing', inputSchema: noInput },
  { name: 'refuse', inputSchema: noInput },
  { name: 'protocol_error', inputSchema: noInput },
  { name: 'hang', inputSchema: noInput },
  { name: 'die', inputSchema: noInput },
  { name: 'progress', inputSchema: noInput },
  { name: 'as_a_task', inputSchema: noInput, execution: { taskSupport: 'required' } },
  { name: 'odd_schema', inputSchema: { type: 'object', not: { required: ['a'] } } },
]

/** Few enough for several pages. */
const PAGE_LENGTH = 5

function note(line: string): void {
  if (log !== undefined) appendFileSync(log, `${line}\n`)
}

function text(...texts: readonly string[]): CallToolResult {
  return { content: texts.map((text) => ({ type: 'text', text })) }
}

const data = Buffer.from('0123456789').toString('base64')

function newServer(): Server {
  const server = new Server({ name: 'test', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const from = Number(params?.cursor ?? 0)
    const next = from + PAGE_LENGTH
    return {
      tools: tools.slice(from, next),
      ...(next < tools.length ? { nextCursor: String(next) } : {}),
    }
  })
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification, _meta }) => {
    const { name, arguments: args = {} } = params
    note(`called ${name} ${JSON.stringify(args)}`)
    switch (name) {
      case 'add':
        return text(String(Number(args.a) + Number(args.b ?? 1)))
      case 'everything':
        return {
          content: [
            { type: 'text', text: 'Look:' },
            { type: 'image', mimeType: 'image/png', data },
            { type: 'audio', mimeType: 'audio/wav', data },
            { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'inside' } },
            { type: 'resource', resource: { uri: 'file:///b.bin', blob: data } },
            { type: 'resource_link', uri: 'file:///c.csv', name: 'c', mimeType: 'text/csv', size: 7 },
          ],
        }
      case 'structured':
        return { content: [], structuredContent: { answer: 42 } }
      case 'nothing':
        return { content: [] }
      case 'refuse':
        return { ...text('The disk is full.'), isError: true }
      case 'protocol_error':
        throw new McpError(ErrorCode.InvalidParams, 'no such file')
      case 'hang':
        return new Promise(() => {
          signal.addEventListener('abort', () => note(`cancelled hang: ${signal.reason}`))
        })
      case 'die':
        return new Promise(() => setTimeout(() => process.exit(1), 50))
      case 'progress':
        for (const progress of [1, 2]) {
          const progressToken = _meta?.progressToken ?? ''
          await sendNotification({
            method: 'notifications/progress',
            params: { progressToken, progress, total: 2 },
          })
        }
        // The SDK's client loses a notification whose call is answered in the same breath.
        await delay(100)
        return text('ready')
      default:
        return text(`this is ${name}`)
    }
  })
  return server
}

/** The SDK's transports leave out `undefined` in optional fields, which its interface does not know of. */
function connect(transport: unknown): Promise<void> {
  return newServer().connect(transport as Transport)
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  return pieces.length === 0 ? undefined : JSON.parse(Buffer.concat(pieces).toString())
}

function serveHttp(): void {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    let transport = sessions.get(String(request.headers['mcp-session-id']))
    if (transport === undefined) {
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void sessions.set(id, opened),
      })
      await connect(opened)
      transport = opened
    }
    await transport.handleRequest(request, response, body)
  })
  server.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
  })
}

if (kind === 'http') serveHttp()
else await connect(new StdioServerTransport())
