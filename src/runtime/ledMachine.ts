import type { JournalEntry } from '../journal/entry.ts'
import type { AgentMachine } from '../machines/agentMachine.ts'
import type { AgentContext } from '../machines/context.ts'
import { isContextTooLong } from '../machines/guards.ts'

/** The guards that ask something of the agent: its memory, its limits. A journal tells which way was taken. */
const ledGuards = ['contextOverBudget', 'contextTooLong', 'limitAborts', 'limitConcludes'] as const

type LedGuard = (typeof ledGuards)[number]

type Guard = (
  args: { readonly context: AgentContext },
  params: { readonly error: unknown } | undefined,
) => boolean

/** What came next in a run, as far as the guards have to know. `untold`: it went on, and the journal does not tell where. */
type Next = 'compact' | 'closing' | 'aborted' | 'other' | 'untold'

/** What has to come next where a guard has let the run pass. */
const passed: Readonly<Record<LedGuard, Next>> = {
  contextOverBudget: 'compact',
  contextTooLong: 'compact',
  limitAborts: 'aborted',
  limitConcludes: 'closing',
}

/** Which entry of a journal is being taken in. */
export interface Reading {
  position: number
}

/**
 * The machine as it went when a journal was written. Where it asks whether to make room, to conclude or to abort, the
 * journal answers by what happened next, whatever the memory and the limits of the agent are by now; only where nothing
 * more is recorded does the machine decide itself.
 */
export function ledMachine(
  machine: AgentMachine,
  entries: readonly JournalEntry[],
  reading: Reading,
): AgentMachine {
  const { guards } = machine.implementations
  const led = ledGuards.map((name) => {
    const own = guards[name] as Guard
    const guard: Guard = (args, params) => {
      const next = nextOf(entries, reading.position)
      if (next === undefined) return own(args, params)
      if (next !== 'untold') return next === passed[name]
      // What was recorded later did not come after an abort: no limit aborted, and room was made where there was none.
      if (name === 'contextTooLong') return isContextTooLong(args.context, params?.error)
      return name !== 'limitAborts' && own(args, params)
    }
    return [name, guard]
  })
  return machine.provide({ guards: Object.fromEntries(led) })
}

/** What came after an entry; nothing where the journal does not tell. */
function nextOf(entries: readonly JournalEntry[], position: number): Next | undefined {
  let hasDied = false
  for (let i = position + 1; i < entries.length; i++) {
    const entry = entries[i] as JournalEntry
    if (entry.type === 'ended') return entry.status === 'aborted' ? 'aborted' : 'other'
    if (entry.type === 'migrated') return undefined
    if (entry.type === 'resumed') hasDied = true
    if (entry.type === 'intent') return effectKindOf(entry.place)
    if (entry.type !== 'event') continue
    const { event } = entry
    // Compactions and closing calls say when they begin, so nothing of that kind was under way when the run was stopped,
    // unless its process died before it could say so.
    const isStop = event.type === 'cancelled' || ('place' in event && event.place.startsWith('deadline.'))
    if (isStop) return hasDied ? 'untold' : 'other'
    if ('place' in event) return effectKindOf(event.place)
  }
  return undefined
}

function effectKindOf(place: string): Next {
  const [kind] = place.split('.')
  return kind === 'compact' || kind === 'closing' ? kind : 'other'
}
