import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type AgentEvent, createAgent, type Outcome, type Tool } from '../../src/index.ts'
import { type McpClient, type McpToolCall, mcpTools } from '../../src/mcp/index.ts'
import { toolNames } from '../../src/mcp/toolNames.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { expectAborted, expectDone } from '../support/outcome.ts'
import { type Connection, overHttp, overStdio } from './connections.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** One connection for all tests of a group. */
function sharedConnection(connect: () => Promise<Connection>): Omit<Connection, typeof Symbol.asyncDispose> {
  let connection: Connection
  beforeAll(async () => {
    connection = await connect()
  })
  afterAll(() => connection[Symbol.asyncDispose]())
  return {
    get client() {
      return connection.client
    },
    log: () => connection.log(),
    kill: () => connection.kill(),
  }
}

/** Lets an agent make one call and answer. */
function runCall(
  tools: readonly Tool[],
  name: string,
  args: unknown = {},
  options: { signal?: AbortSignal; onEvent?: (event: AgentEvent) => void } = {},
): Promise<Outcome> {
  const model = scriptedModel([{ calls: [{ name, arguments: args, id: 'c' }] }, 'ok'])
  return createAgent({ model, tools }).run('go', options)
}

/** What the model is told of one call, in a run that goes on to its answer. */
async function toldOf(tools: readonly Tool[], name: string, args: unknown = {}): Promise<unknown> {
  const outcome = expectDone(await runCall(tools, name, args))
  return outcome.transcript[2]?.content
}

const transports = [
  { transport: 'stdio', connect: overStdio },
  { transport: 'streamable HTTP', connect: overHttp },
]

describe.each(transports)('a tool of an MCP server over $transport', ({ connect }) => {
  const server = sharedConnection(connect)

  it('runs there, and its text is the result', async () => {
    expect(await toldOf(await mcpTools(server.client), 'add', { a: 1, b: 2 })).toBe('3')
  })

  it('that reports an error is a failed call, and the run goes on', async () => {
    const told = await toldOf(await mcpTools(server.client), 'refuse')
    expect(told).toEqual(expect.stringContaining('Error (failed): refuse failed: The disk is full.'))
  })

  it('that ends in an error of the protocol is a failed call', async () => {
    const told = await toldOf(await mcpTools(server.client), 'protocol_error')
    expect(told).toMatch(/^Error \(failed\): protocol_error failed: .*no such file/)
  })

  it('hears that its call was cancelled with the run', async () => {
    const controller = new AbortController()
    const running = runCall(await mcpTools(server.client), 'hang', {}, { signal: controller.signal })
    await vi.waitFor(() => expect(server.log()).toMatch(/called hang \{\}\n$/))
    controller.abort()
    expect(expectAborted(await running).reason).toBe('cancelled')
    await vi.waitFor(() => expect(server.log()).toMatch(/cancelled hang: .*\n$/))
  })

  it('hears that its time is over', async () => {
    const told = await toldOf(await mcpTools(server.client, { timeoutMs: 300 }), 'hang')
    expect(told).toContain('Error (timeout): hang did not finish within 300 ms')
    await vi.waitFor(() => expect(server.log()).toContain('cancelled hang: TimeoutError: hang took too long'))
  })

  it('shows its progress', async () => {
    const events: AgentEvent[] = []
    await runCall(await mcpTools(server.client), 'progress', {}, { onEvent: (event) => events.push(event) })
    const shown = events.flatMap((event) => (event.type === 'tool.progress' ? [event.progress] : []))
    expect(shown).toEqual([
      { progress: 1, total: 2 },
      { progress: 2, total: 2 },
    ])
  })
})

/** Advances the clock of the pings, and of nothing else. */
async function pingUntilSettled(running: Promise<unknown>): Promise<unknown> {
  let settled = false
  const settle = (): void => {
    settled = true
  }
  running.then(settle, settle)
  while (!settled) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    vi.advanceTimersByTime(1000)
  }
  return running
}

describe.each(transports)('the loss of an MCP server over $transport', ({ connect }) => {
  it('in the middle of a call makes that fail, not the run', async () => {
    await using connection = await connect()
    const { client } = connection
    const tools = await mcpTools(client)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const running = toldOf(tools, 'die')
    const told = await Promise.race([running, pingUntilSettled(running)])
    expect(told).toMatch(/^Error \(failed\): die failed: the MCP server could not be reached/)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('before a call makes that fail, not the run', async () => {
    await using connection = await connect()
    const { client, kill } = connection
    const tools = await mcpTools(client)
    kill()
    await vi.waitFor(() => expect(client.ping({ timeout: 100 })).rejects.toThrow())
    const told = await toldOf(tools, 'files_delete')
    expect(told).toMatch(/^Error \(failed\): files_delete failed: the MCP server could not be reached/)
  })
})

describe('the tools of an MCP server', () => {
  const server = sharedConnection(overStdio)

  it('are all there, over all pages of its list, under names that providers take', async () => {
    const tools = await mcpTools(server.client)
    expect(tools.map(({ name }) => name)).toEqual([
      'add',
      expect.stringMatching(/^files_read_text_[0-9a-f]{8}$/),
      expect.stringMatching(/^files_read_text_[0-9a-f]{8}$/),
      'files_delete',
      'everything',
      'structured',
      'nothing',
      'refuse',
      'protocol_error',
      'hang',
      'die',
      'progress',
      'odd_schema',
    ])
  })

  it('are called by the names that the server gave them', async () => {
    const [, slash, underscore] = await mcpTools(server.client)
    const tools = [slash, underscore].filter((tool) => tool !== undefined)
    const told = await Promise.all(tools.map(({ name }) => toldOf(tools, name)))
    expect(told).toEqual(['this is files/read.text', 'this is files_read.text'])
  })

  it('can be chosen and prefixed', async () => {
    const chosen = await mcpTools(server.client, {
      prefix: 'fs_',
      include: ['add', 'files/read.text'],
      exclude: ['add'],
    })
    expect(chosen.map(({ name }) => name)).toEqual([expect.stringMatching(/^fs_files_read_text_/)])
    for (const options of [{ include: ['ad'] }, { exclude: ['files_delet'] }, { prefix: 'files.' }]) {
      await expect(mcpTools(server.client, options)).rejects.toMatchObject({ code: 'invalid_option' })
    }
  })

  it('tell the model what the server says of them, and check arguments before they are sent', async () => {
    const [add] = await mcpTools(server.client, { include: ['add'] })
    expect(add).toMatchObject({
      description: 'Adds two numbers.',
      parameters: { type: 'object', required: ['a'], additionalProperties: false },
    })
    const tools = add === undefined ? [] : [add]
    expect(await toldOf(tools, 'add', { a: 'one' })).toMatch(/^Error \(invalid_arguments\).*\n- a: /)
    expect(server.log()).not.toContain('one')
    expect(await toldOf(tools, 'add', { a: 1 })).toBe('2')
    expect(server.log()).toMatch(/called add \{"a":1\}\n$/)
  })

  it('whose schema cannot be checked here are checked by the server alone', async () => {
    expect(await toldOf(await mcpTools(server.client), 'odd_schema', { a: 1 })).toBe('this is odd_schema')
  })

  it('describe what is not text in words', async () => {
    const tools = await mcpTools(server.client)
    expect(await toldOf(tools, 'everything')).toBe(
      [
        'Look:',
        '(image, image/png, 10 bytes; not shown)',
        '(audio, audio/wav, 10 bytes; not shown)',
        '(resource file:///a.txt, text/plain)',
        'inside',
        '(resource file:///b.bin, 10 bytes; not shown)',
        '(link to the resource file:///c.csv, c, text/csv, 7 bytes)',
      ].join('\n'),
    )
    expect(await toldOf(tools, 'structured')).toBe('{"answer":42}')
    expect(await toldOf(tools, 'nothing')).toBe('(the tool returned nothing)')
  })

  it('may run again after a crash only where the server says that it does no harm', async () => {
    const tools = await mcpTools(server.client, { include: ['add', 'files/read.text', 'files_delete'] })
    expect(tools.map(({ idempotent, retries }) => [idempotent, retries])).toEqual([
      [true, 1],
      [true, 1],
      [false, 0],
    ])
  })

  it('need approval where they may destroy, if that is asked for', async () => {
    const include = ['add', 'files_read.text', 'files_delete']
    const tools = await mcpTools(server.client, { include, needsApproval: 'destructive' })
    expect(tools.map(({ needsApproval }) => needsApproval)).toEqual([false, false, true])
    expect((await runCall(tools, 'files_delete')).status).toBe('waiting')
  })

  it('need approval where a function says so of the call', async () => {
    const seen: McpToolCall[] = []
    const needsApproval = (call: McpToolCall): boolean => {
      seen.push(call)
      return true
    }
    const tools = await mcpTools(server.client, { include: ['add'], needsApproval })
    expect((await runCall(tools, 'add', { a: 1 })).status).toBe('waiting')
    expect(seen).toEqual([{ name: 'add', args: { a: 1 }, annotations: { readOnlyHint: true } }])
  })

  it('have the time that the tool has, whatever the SDK grants', async () => {
    const timeouts: unknown[] = []
    const client: McpClient = {
      listTools: async () => ({ tools: [{ name: 'x', inputSchema: { type: 'object' } }] }),
      callTool: async (_params, _schema, options) => {
        timeouts.push(options?.timeout)
        return { content: [] }
      },
      ping: async () => ({}),
    }
    for (const timeoutMs of [120_000, Number.POSITIVE_INFINITY]) {
      await toldOf(await mcpTools(client, { timeoutMs }), 'x')
    }
    expect(timeouts).toEqual([121_000, 2 ** 31 - 1])
  })

  it('are not listed for ever by a server that repeats itself', async () => {
    const client: McpClient = {
      listTools: async () => ({ tools: [], nextCursor: 'again' }),
      callTool: async () => ({}),
      ping: async () => ({}),
    }
    await expect(mcpTools(client)).rejects.toMatchObject({ code: 'mcp_error' })
  })

  it('cannot be had of a client that is not connected', async () => {
    await expect(mcpTools(new Client({ name: 'x', version: '1' }))).rejects.toThrow('Not connected')
  })
})

describe('names of MCP tools', () => {
  it.each([
    ['stay as they are where they fit', ['a-b_C1'], 'x_', ['x_a-b_C1']],
    ['lose only what providers refuse', ['a/b.c'], '', ['a_b_c']],
    ['that fit win over those that were changed', ['a.b', 'a_b'], '', [/^a_b_[0-9a-f]{8}$/, 'a_b']],
    ['that are too long end in a digest', ['n'.repeat(70)], '', [/^n{55}_[0-9a-f]{8}$/]],
    ['are made where nothing is left', ['日本', ''], '', ['__', /^_[0-9a-f]{8}$/]],
  ])('%s', (_behaviour, originals, prefix, expected) => {
    const names = [...toolNames(originals, prefix).values()]
    expect(names).toEqual(
      expected.map((name) => (typeof name === 'string' ? name : expect.stringMatching(name))),
    )
  })

  it('do not depend on the order of the list', () => {
    const originals = ['a.b', 'a_b', 'a/b', 'c', `${'n'.repeat(64)}1`, `${'n'.repeat(64)}2`]
    const forwards = toolNames(originals, '')
    const backwards = toolNames(originals.toReversed(), '')
    expect(new Map([...backwards].toReversed())).toEqual(forwards)
    expect(new Set(forwards.values()).size).toBe(originals.length)
  })
})
