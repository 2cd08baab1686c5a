import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { LoopchartError, MisuseError, messageOf } from '../errors.ts'
import { AccessToken } from './accessToken.ts'
import { errorAnswer, RequestError } from './answers.ts'
import type { Hub } from './hub.ts'
import { handlerOf, hubOf, type Inspected, type InspectHandler } from './inspectHandler.ts'
import { nodeListener } from './nodeListener.ts'
import { openInBrowser } from './openInBrowser.ts'
import { hostOf } from './originCheck.ts'

export interface InspectOptions extends Inspected {
  /** The port of the local server. Default: 0, any that is free. */
  readonly port?: number
  /** The loopback address: `127.0.0.1` or `::1`. Nothing else is listened on. Default: `127.0.0.1`. */
  readonly host?: '127.0.0.1' | '::1'
  /** Whether the page is opened in the browser. Default: false. */
  readonly open?: boolean
  /** Whether the process stays for the inspector's sake. Default: false, it ends when there is nothing else to do. */
  readonly keepAlive?: boolean
  /** Whether it may start where `NODE_ENV` is `production`. Default: false. */
  readonly production?: boolean
}

/** A running inspector. */
export interface Inspector {
  /** Where to open it, with the token that lets one in. */
  readonly url: string
  readonly port: number
  /** Ends it: streams, connections, and the watching of agents. */
  close(): Promise<void>
}

/**
 * Starts the inspector on this machine: a server on the loopback address that lets in whoever has its URL.
 *
 * @returns The inspector, listening. Rejects with `inspect_production` in production, `port_taken` or
 * `inspect_unavailable` where it cannot listen, and with a `MisuseError` for options that cannot be.
 */
export async function inspect(options: InspectOptions): Promise<Inspector> {
  checkProduction(options.production === true)
  return serve(hubOf(options), options)
}

/** The local server around what a hub knows. */
export async function serve(hub: Hub, options: Omit<InspectOptions, keyof HubFacts>): Promise<Inspector> {
  const { port = 0, host = '127.0.0.1', open = false, keepAlive = false, acts, pollMs } = options
  if (host !== '127.0.0.1' && host !== '::1') {
    throw new MisuseError(
      'not_loopback',
      `inspect listens on the loopback address only (127.0.0.1 or ::1), not on "${String(host)}". For others, mount ` +
        'inspectHandler behind an authentication of your own.',
    )
  }
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new MisuseError(
      'invalid_option',
      `port must be a whole number from 0 to 65535, not ${String(port)}.`,
    )
  }
  const handler = handlerOf(hub, {
    ...(acts === undefined ? {} : { acts }),
    ...(pollMs === undefined ? {} : { pollMs }),
  })
  const server = createServer()
  const address = await listening(server, port, host).catch((thrown) => {
    handler.close()
    throw thrown
  })
  const token = new AccessToken(address.port)
  server.on('request', nodeListener({ fetch: guarded(handler, address.port, token) }))
  if (!keepAlive) {
    server.unref()
    server.on('connection', (socket) => socket.unref())
  }
  const url = `http://${host === '::1' ? '[::1]' : host}:${address.port}/?token=${token.token}`
  if (open) openInBrowser(url)
  return {
    url,
    port: address.port,
    async close() {
      handler.close()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

type HubFacts = Pick<Inspected, 'agent' | 'agents' | 'journal' | 'redact' | 'bounds'>

/** @throws MisuseError `inspect_production` where it was not asked for. */
export function checkProduction(isAllowed: boolean): void {
  if (isAllowed || process.env.NODE_ENV !== 'production') return
  throw new MisuseError(
    'inspect_production',
    'The inspector shows all that runs said, so it does not start in production (NODE_ENV) unless it is asked to: ' +
      'inspect({ production: true }). To let people in by your own authentication, mount inspectHandler instead.',
  )
}

/** Lets in only what was sent to this address by its name, and has the token. */
function guarded(handler: InspectHandler, port: number, token: AccessToken): InspectHandler['fetch'] {
  const hosts = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port}`)
  return async (request) => {
    // A page of another site may give its own name the address of this machine.
    if (!hosts.includes(hostOf(request))) {
      return errorAnswer(
        new RequestError(
          421,
          'foreign_host',
          `The inspector is at ${hosts.join(', ')}, and answers to no other name.`,
        ),
      )
    }
    return token.challenge(request) ?? handler.fetch(request)
  }
}

async function listening(server: Server, port: number, host: string): Promise<AddressInfo> {
  const listens = Promise.withResolvers<void>()
  server.once('error', (error: NodeJS.ErrnoException) => listens.reject(failure(error, port)))
  server.listen(port, host, () => listens.resolve())
  await listens.promise
  return server.address() as AddressInfo
}

function failure(error: NodeJS.ErrnoException, port: number): LoopchartError {
  if (error.code === 'EADDRINUSE') {
    return new LoopchartError(
      'port_taken',
      `The port ${port} is taken: choose another one, or 0 for any that is free.`,
      { cause: error },
    )
  }
  return new LoopchartError('inspect_unavailable', `The inspector cannot listen: ${messageOf(error)}`, {
    cause: error,
  })
}
