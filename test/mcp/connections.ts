import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'

const program = fileURLToPath(new URL('server.ts', import.meta.url))

/** A client that is connected to a server in a process of its own. */
export interface Connection extends AsyncDisposable {
  readonly client: Client
  /** What the server has written down of its calls. */
  log(): string
  /** Ends the server at once. */
  kill(): void
}

export async function overStdio(): Promise<Connection> {
  const { log, path, remove } = newLog()
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, 'stdio', path],
    stderr: 'ignore',
  })
  const client = await connected(transport)
  return {
    client,
    log,
    kill: () => void process.kill(transport.pid ?? Number.NaN, 'SIGKILL'),
    async [Symbol.asyncDispose]() {
      await client.close()
      remove()
    },
  }
}

export async function overHttp(): Promise<Connection> {
  const { log, path, remove } = newLog()
  const server = spawn(process.execPath, [program, 'http', path], { stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = new Promise((resolve) => server.once('exit', resolve))
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(server.stdout).once('line', resolve)
    server.once('error', reject)
    server.once('exit', () => reject(new Error('the MCP server ended before it listened')))
  })
  const client = await connected(new StreamableHTTPClientTransport(new URL(url)))
  return {
    client,
    log,
    kill: () => void server.kill('SIGKILL'),
    async [Symbol.asyncDispose]() {
      await client.close()
      server.kill('SIGKILL')
      await exited
      remove()
    },
  }
}

async function connected(transport: unknown): Promise<Client> {
  const client = new Client({ name: 'loopchart-test', version: '1.0.0' })
  // The SDK's transports do not fit its own interface under exactOptionalPropertyTypes.
  await client.connect(transport as Transport)
  return client
}

function newLog(): { path: string; log(): string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'loopchart-mcp-'))
  const path = join(folder, 'log')
  return {
    path,
    log: () => {
      try {
        return readFileSync(path, 'utf8')
      } catch {
        return ''
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
