import type { AnyStateNode, AnyTransitionDefinition } from 'xstate'

/** An edge of a chart, in the words of Loopchart's events. */
export interface EdgeName {
  /** The state that it leaves, such as `thinking.calling`. */
  readonly from: string
  /** The state to which it leads; absent where it stays in its state. */
  readonly to?: string
  /** What sets it off: an event's type, `model done` or `tool failed` for an actor, `always` where nothing is needed. */
  readonly event: string
  /** The guard that lets it pass; `else` where the guards of its alternatives have not; absent where there is none. */
  readonly guard?: string
}

export function edgeName(
  definition: AnyTransitionDefinition,
  target: AnyStateNode | undefined = definition.target?.[0],
): EdgeName {
  const { source, eventType, guard } = definition
  const guardName = guardLabel(guard) ?? (isElse(definition) ? 'else' : undefined)
  return {
    from: stateName(source),
    ...(target === undefined ? {} : { to: stateName(target) }),
    event: eventType === '' ? 'always' : eventLabel(eventType, source),
    ...(guardName === undefined ? {} : { guard: guardName }),
  }
}

/** What a state is called in edges, events and notes: its path, such as `thinking.calling`. The root has its id. */
export function stateName(state: AnyStateNode): string {
  return state.path.length === 0 ? state.id : state.path.join('.')
}

/** Whether guarded alternatives are tried before this edge, which has no guard itself. */
function isElse(definition: AnyTransitionDefinition): boolean {
  const { source, eventType, guard } = definition
  if (guard !== undefined) return false
  const candidates = (eventType === '' ? source.always : source.transitions.get(eventType)) ?? []
  return candidates.slice(0, candidates.indexOf(definition)).some((before) => before.guard !== undefined)
}

/** XState's names for what actors and states report, and the word that a reader needs. */
const reports = [
  { prefix: 'xstate.done.actor.', word: 'done' },
  { prefix: 'xstate.error.actor.', word: 'failed' },
  { prefix: 'xstate.snapshot.actor.', word: 'changed' },
  { prefix: 'xstate.done.state.', word: 'done' },
] as const

const DELAY_PREFIX = 'xstate.after.'

/** An event as people say it: `model done` for `xstate.done.actor.model`, `after 500 ms` for a delay. */
function eventLabel(event: string, source: AnyStateNode): string {
  if (event === '*') return 'any event'
  if (event.startsWith(DELAY_PREFIX)) return delayLabel(event.slice(DELAY_PREFIX.length), source)
  const report = reports.find(({ prefix }) => event.startsWith(prefix))
  return report === undefined
    ? event
    : `${reporterName(event.slice(report.prefix.length), source)} ${report.word}`
}

/** The name of a guard, with `not`, `and`, `or` and `stateIn` spelled out. Undefined where there is no guard. */
function guardLabel(guard: unknown): string | undefined {
  if (guard === undefined) return undefined
  if (typeof guard === 'string') return guard
  const { type, name, guards, stateValue } = guard as GuardFacts
  if (type !== undefined) return type
  if (stateValue !== undefined)
    return `in ${typeof stateValue === 'string' ? stateValue : JSON.stringify(stateValue)}`
  if (guards !== undefined) {
    const parts = guards.map((part) => guardLabel(part) ?? '?')
    return name === 'not' ? `not ${parts[0]}` : `(${parts.join(` ${name} `)})`
  }
  return name === undefined || name === '' ? 'guard' : name
}

/** What a guard can carry: an object has a `type`; XState's combinators are functions with fields of their own. */
interface GuardFacts {
  readonly type?: string
  readonly name?: string
  readonly guards?: readonly unknown[]
  readonly stateValue?: unknown
}

function delayLabel(delayAndState: string, { id }: AnyStateNode): string {
  const suffix = `.${id}`
  const delay = delayAndState.endsWith(suffix) ? delayAndState.slice(0, -suffix.length) : delayAndState
  return /^\d+$/.test(delay) ? `after ${delay} ms` : `after ${delay}`
}

/** Who reports: an actor by its id, a family of actors (`tool.*`) by what their ids share, a state by its key. */
function reporterName(id: string, source: AnyStateNode): string {
  if (id === source.id) return source.key
  const unnamed = source.invoke.findIndex((invoked, i) => invoked.id === id && id === `${i}.${source.id}`)
  if (unnamed === -1) return id.replace(/\.\*$/, '')
  const src: unknown = source.invoke[unnamed]?.src
  return typeof src === 'string' && !src.startsWith('xstate.') ? src : 'actor'
}
