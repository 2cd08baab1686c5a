import type { Agent } from '../agent.ts'
import { MisuseError } from '../errors.ts'
import type { Journal } from '../journal/entry.ts'
import type { Redact } from '../runtime/notify.ts'
import { answer, errorAnswer, RequestError } from './answers.ts'
import { Api } from './api.ts'
import { asset } from './assets.ts'
import { Hub } from './hub.ts'
import type { AnyAgent } from './liveRun.ts'
import type { LiveBounds } from './liveRuns.ts'
import { refuseForeign } from './originCheck.ts'
import { Poll } from './poll.ts'

/** Milliseconds between two looks at what other processes have written, unless it is said otherwise. */
const DEFAULT_POLL_MS = 1000

/** What is inspected. */
export interface Inspected {
  /** The agent whose runs are watched and can be acted on. Default: none; then only a journal is looked at. */
  readonly agent?: InspectedAgent
  /** Several agents. Default: none but `agent`. */
  readonly agents?: readonly InspectedAgent[]
  /** A journal beside those of the agents, such as one that another program keeps. Default: none. */
  readonly journal?: Journal
  /** What of an event may be seen, after what the agents themselves take out. Default: everything. */
  readonly redact?: Redact
  /** Whether runs can be decided on, told something, cancelled, resumed and forked. Default: where there is an agent. */
  readonly acts?: boolean
  /** Milliseconds between two looks at what other processes have written, while somebody watches. Default: 1000. */
  readonly pollMs?: number
  /** What of watched runs is kept in memory. Default: 500 runs, 20,000 events of each, 16 MB of each, 64 MB in all. */
  readonly bounds?: Partial<LiveBounds>
}

/** What an agent has to offer to be inspected: any agent, whatever its output. */
// biome-ignore lint/suspicious/noExplicitAny: an agent takes its own output back nowhere, but its type says so.
export type InspectedAgent = Agent<any>

export interface InspectHandlerOptions extends Inspected {
  /** The path below which the inspector is mounted, such as `/inspect`. Default: the root. */
  readonly basePath?: string
  /**
   * Origins at which people see the inspector, where a proxy before it renames the host: `https://app.example.com`.
   * Default: none but the host that requests are sent to.
   */
  readonly origins?: readonly string[]
}

/** The inspector as a web-standard handler. Who may reach it is up to whoever mounts it. */
export interface InspectHandler {
  /** Answers a request below the base path. Never rejects. */
  fetch(request: Request): Promise<Response>
  /** Stops watching and ends all streams. */
  close(): void
}

/**
 * The inspector for an existing backend, behind its own authentication: whoever reaches the handler sees all that the
 * runs said, and can act on them.
 *
 * @throws MisuseError `invalid_option` where there is nothing to inspect, or the base path is none.
 */
export function inspectHandler(options: InspectHandlerOptions): InspectHandler {
  const hub = hubOf(options)
  return handlerOf(hub, options)
}

/** What is known of the agents and journals that are to be inspected. */
export function hubOf({ agent, agents = [], journal, redact, bounds }: Inspected): Hub {
  if (redact !== undefined && typeof redact !== 'function') {
    throw new MisuseError('invalid_option', 'redact must be a function of an event.')
  }
  if (journal !== undefined && typeof journal?.list !== 'function') {
    throw new MisuseError('invalid_option', 'journal must be a journal, as sqliteStore(…).journal is.')
  }
  requireBounds(bounds)
  const hub = new Hub({ journal, redact, bounds })
  for (const one of agent === undefined ? agents : [agent, ...agents]) {
    if (typeof one?.watch !== 'function') {
      throw new MisuseError('invalid_option', 'agent must be what createAgent returns.')
    }
    hub.add(one as AnyAgent)
  }
  if (hub.agents.length === 0 && journal === undefined) {
    throw new MisuseError('invalid_option', 'There is nothing to inspect: give an agent or a journal.')
  }
  return hub
}

export function handlerOf(
  hub: Hub,
  {
    basePath = '',
    origins = [],
    acts = true,
    pollMs = DEFAULT_POLL_MS,
  }: Omit<InspectHandlerOptions, keyof HubFacts>,
): InspectHandler {
  if (!Array.isArray(origins) || !origins.every((origin) => typeof origin === 'string')) {
    throw new MisuseError('invalid_option', "origins must be a list, such as ['https://app.example.com'].")
  }
  requireNumber('pollMs', pollMs)
  const base = checkedBase(basePath)
  const poll = new Poll(hub, pollMs)
  const api = new Api(hub, poll, acts)

  async function answerTo(request: Request): Promise<Response> {
    refuseForeign(request, origins)
    const { pathname, search } = new URL(request.url)
    if (pathname === base) return answer(null, { status: 308, headers: { location: `${base}/${search}` } })
    if (!pathname.startsWith(`${base}/`)) throw notFound(pathname)
    const path = pathname.slice(base.length + 1)
    if (path.startsWith('api/')) return api.answer(request, path.slice('api/'.length))
    if (request.method !== 'GET' && request.method !== 'HEAD') throw wrongMethod('GET')
    const found = await asset(path === '' ? 'index.html' : path)
    if (found === undefined) throw notFound(pathname)
    const { body, type, headers = {} } = found
    return answer(request.method === 'HEAD' ? null : body, { type, headers })
  }

  return {
    fetch: (request) => answerTo(request).catch(errorAnswer),
    close() {
      poll.close()
      hub.close()
    },
  }
}

type HubFacts = Pick<Inspected, 'agent' | 'agents' | 'journal' | 'redact' | 'bounds'>

function checkedBase(basePath: string): string {
  const base = basePath.replace(/\/+$/, '')
  if (base === '' || (base.startsWith('/') && !/[?#]/.test(base))) return base
  throw new MisuseError('invalid_option', `basePath must be a path such as "/inspect", not "${basePath}".`)
}

export function notFound(path: string): RequestError {
  return new RequestError(404, 'not_found', `There is nothing at ${path}.`)
}

export function wrongMethod(method: string): RequestError {
  return new RequestError(405, 'wrong_method', `This is asked for with ${method}.`)
}

function requireBounds({ runs, bytes, ofRun }: Partial<LiveBounds> = {}): void {
  const given = { runs, bytes, 'ofRun.events': ofRun?.events, 'ofRun.bytes': ofRun?.bytes }
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) requireNumber(`bounds.${name}`, value)
  }
}

function requireNumber(name: string, value: number): void {
  if (typeof value === 'number' && value > 0) return
  throw new MisuseError('invalid_option', `${name} must be a number above 0, not ${String(value)}.`)
}
