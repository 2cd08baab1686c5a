import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

export interface BenchServer {
  readonly origin: string
  /** How many model calls have been served under a path such as `/http/200/loopchart`. */
  served(path: string): Promise<number>
  close(): void
}

/** Starts the server in a process of its own, so that what it costs is not counted. */
export async function startServer(): Promise<BenchServer> {
  const child = fork(new URL('./server.ts', import.meta.url), { execArgv: [] })
  const port = await nextMessage(child)
  return {
    origin: `http://127.0.0.1:${port}`,
    served(path) {
      const count = nextMessage(child)
      child.send(path)
      return count
    },
    close: () => child.disconnect(),
  }
}

async function nextMessage(child: ChildProcess): Promise<number> {
  const settled = new AbortController()
  const { signal } = settled
  try {
    const message = once(child, 'message', { signal })
    const exit = once(child, 'exit', { signal }).then(([code]) => {
      throw new Error(`The bench server ended with code ${code}.`)
    })
    exit.catch(() => {})
    message.catch(() => {})
    const [value] = await Promise.race([message, exit])
    return Number(value)
  } finally {
    settled.abort()
  }
}
