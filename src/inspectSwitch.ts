import type { Agent } from './agent.ts'
import { messageOf } from './errors.ts'
import type { AgentEvent } from './runtime/events.ts'

/** How the environment asks for the inspector. */
export interface InspectSwitch {
  /** 0: any that is free. */
  readonly port: number
  /** Whether it is meant for production, too. */
  readonly production: boolean
}

// biome-ignore lint/suspicious/noExplicitAny: whatever its output is.
type AnyAgent = Agent<any>

/** What the inspector of this process takes in. */
interface ProcessInspector {
  addWeakly(agent: AnyAgent): void
  take(event: AgentEvent, agent: AnyAgent): void
}

/** Events that are kept until the inspector has been loaded. */
const MOST_EARLY = 10_000

let starting: Promise<ProcessInspector> | undefined
let hasWarned = false

/**
 * Shows the runs of an agent in the inspector of this process where `LOOPCHART_INSPECT` asks for it: `1`, or the port of its
 * server. Nothing of the inspector is loaded otherwise. In production it has to be `force`, or `force:` and the port.
 */
export function inspectIfAsked(agent: AnyAgent): void {
  const value = process.env.LOOPCHART_INSPECT
  if (value === undefined || value === '' || value === '0') return
  const asked = readSwitch(value)
  if (asked === undefined) {
    warnOnce(`LOOPCHART_INSPECT is 1, a port, force or force:PORT, not "${value}"; the inspector is off.`)
    return
  }
  if (process.env.NODE_ENV === 'production' && !asked.production) {
    warnOnce('LOOPCHART_INSPECT is not followed in production (NODE_ENV), unless it is force or force:PORT.')
    return
  }
  starting ??= import('./inspect/inspectProcess.ts').then(({ inspectProcess }) => inspectProcess(asked))
  watchFor(starting, agent)
}

/** What the environment variable asks for; `undefined` where it is not understood. */
export function readSwitch(value: string): InspectSwitch | undefined {
  const [, force, port = ''] = /^(?:(force)(?::|$))?(1|\d{2,5}|)$/.exec(value) ?? []
  if (force === undefined && port === '') return undefined
  const number = port === '' || port === '1' ? 0 : Number(port)
  return number > 65_535 ? undefined : { port: number, production: force !== undefined }
}

/** A run may begin before the inspector has been loaded: its events are taken in then. */
function watchFor(inspector: Promise<ProcessInspector>, agent: AnyAgent): void {
  const early: AgentEvent[] = []
  let take = (event: AgentEvent): void => {
    if (early.length < MOST_EARLY) early.push(event)
  }
  const unwatch = agent.watch((event) => take(event))
  inspector.then(
    (running) => {
      running.addWeakly(agent)
      for (const event of early.splice(0)) running.take(event, agent)
      take = (event) => running.take(event, agent)
    },
    (thrown) => {
      unwatch()
      early.length = 0
      warnOnce(`The inspector that LOOPCHART_INSPECT asks for could not start: ${messageOf(thrown)}`)
    },
  )
}

function warnOnce(message: string): void {
  if (hasWarned) return
  hasWarned = true
  process.emitWarning(message, { code: 'LOOPCHART_INSPECT' })
}
