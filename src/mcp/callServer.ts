import { messageOf } from '../errors.ts'
import { timeoutMs } from '../timeouts.ts'
import type { ToolContext } from '../tools/tool.ts'
import type { McpClient } from './client.ts'
import { readResult } from './resultText.ts'

/** Milliseconds between looks at the server while a call runs. */
const PING_INTERVAL_MS = 5000

/** By how much the client's own timeout is longer than the tool's, so that the tool's comes first. Milliseconds. */
const TIMEOUT_MARGIN_MS = 1000

/** Messages of errors that the SDK makes where the connection has ended. A server may use their codes for its own. */
const DISCONNECTED: readonly unknown[] = ['Not connected', 'MCP error -32000: Connection closed']

/** HTTP statuses with which a server says that it knows nothing of the session. */
const NO_SESSION: readonly unknown[] = [400, 404]

export interface ServerCall {
  /** The tool's name as the server knows it. */
  readonly name: string
  readonly args: Record<string, unknown>
  /** Milliseconds that the tool has. */
  readonly timeoutMs: number
}

/**
 * Calls a tool of a server and gives back its text.
 *
 * @throws Error with what the tool, the server or the connection to it says.
 */
export async function callServer(
  client: McpClient,
  call: ServerCall,
  context: ToolContext,
): Promise<string | undefined> {
  const timeout = timeoutMs('timeoutMs', call.timeoutMs + TIMEOUT_MARGIN_MS)
  const watch = watchServer(client)
  try {
    const answering = client.callTool({ name: call.name, arguments: call.args }, undefined, {
      signal: AbortSignal.any([context.signal, watch.signal]),
      timeout,
      onprogress: (progress) => context.emit(progress),
    })
    const { text, isError } = readResult(await Promise.race([answering, watch.lost]))
    if (isError) throw new Error(text || 'it reported an error and did not say which')
    return text
  } catch (thrown) {
    if (!isLoss(thrown)) throw thrown
    const message = `the MCP server could not be reached (${messageOf(thrown)}). The call may still have had an effect.`
    throw new Error(message, { cause: thrown })
  } finally {
    watch.stop()
  }
}

interface ServerWatch {
  /** Rejects when the server is found gone. */
  readonly lost: Promise<never>
  /** Aborted when there is no more to wait for. */
  readonly signal: AbortSignal
  stop(): void
}

/**
 * Asks a server now and then whether it lives. Over HTTP nobody else would notice that it does not: the answer's
 * stream just ends, and the SDK goes on waiting for what will never come.
 */
function watchServer(client: McpClient): ServerWatch {
  const { promise: lost, reject } = Promise.withResolvers<never>()
  const over = new AbortController()
  const timer = setInterval(() => {
    client.ping({ timeout: PING_INTERVAL_MS, signal: over.signal }).catch((thrown) => {
      if (isLoss(thrown)) reject(thrown)
    })
  }, PING_INTERVAL_MS)
  const stop = (): void => {
    clearInterval(timer)
    over.abort()
  }
  return { lost, signal: over.signal, stop }
}

/** Whether an error says that nobody is there to answer. A server that is merely slow is not lost. */
function isLoss(thrown: unknown): boolean {
  if (typeof thrown !== 'object' || thrown === null) return false
  const { code, cause, message } = thrown as { code?: unknown; cause?: unknown; message?: unknown }
  if (DISCONNECTED.includes(message) || NO_SESSION.includes(code)) return true
  // That is how fetch fails.
  return thrown instanceof TypeError && cause !== undefined
}
