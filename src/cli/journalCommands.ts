import { styleText } from 'node:util'
import { LoopchartError } from '../errors.ts'
import type { Journal, JournalEntry } from '../journal/entry.ts'
import { diff } from '../runtime/diff.ts'
import { type Replay, replay } from '../runtime/replay.ts'
import type { LookingCommand } from './arguments.ts'
import { printable } from './printable.ts'
import {
  conversationLines,
  type ListedRun,
  listLines,
  type Paint,
  questionOf,
  replayLines,
} from './runViews.ts'
import { findRun } from './store.ts'
import type { Output } from './terminalView.ts'

/** Shows what is kept. Nothing is called, and nothing changes. */
export async function look(command: LookingCommand, journal: Journal, output: Output): Promise<void> {
  const paint: Paint = (style, text) => styleText(style, text, { stream: output as NodeJS.WriteStream })
  const print = (lines: readonly string[]): void => void output.write(`${lines.join('\n')}\n`)
  const printJson = (values: readonly unknown[]): void => print(values.map((value) => JSON.stringify(value)))
  switch (command.name) {
    case 'runs': {
      const summaries = await journal.list({ status: command.status, limit: command.limit })
      if (command.json) {
        if (summaries.length > 0) printJson(summaries)
        return
      }
      const runs: ListedRun[] = []
      for (const summary of summaries) {
        runs.push({ summary, question: await questionIn(journal, summary.runId) })
      }
      return print(listLines(runs, paint))
    }
    case 'show': {
      const { runId, entries } = await findRun(journal, command.runId)
      if (command.json) return printJson(entries)
      return print(conversationLines(replay(entries, { runId }), paint))
    }
    case 'replay': {
      const told = await replayOf(journal, command.runId)
      if (command.json) return printJson(told.entries)
      return print(replayLines(told, paint))
    }
    case 'diff': {
      const [a, b] = [await replayOf(journal, command.runIds[0]), await replayOf(journal, command.runIds[1])]
      const difference = diff(a, b)
      if (command.json) return printJson([difference ?? null])
      return print([printable(difference?.summary ?? `The runs ${a.runId} and ${b.runId} do not part.`)])
    }
  }
}

async function replayOf(journal: Journal, start: string): Promise<Replay> {
  const { runId, entries } = await findRun(journal, start)
  return replay(entries, { runId })
}

/** One run that cannot be read must not hide the others. */
async function questionIn(journal: Journal, runId: string): Promise<string> {
  try {
    return questionOf((await journal.load(runId)) ?? [])
  } catch (thrown) {
    if (!(thrown instanceof LoopchartError)) throw thrown
    return `(${thrown.message})`
  }
}

/**
 * The command goes on with its own runs only: those of other programs have tools that it does not have.
 *
 * @throws LoopchartError `other_agent` for a run of another program.
 */
export function requireOwn(runId: string, entries: readonly JournalEntry[], name: string): void {
  const start = entries.findLast((entry) => entry.type === 'started' || entry.type === 'migrated')
  if (start?.agent?.name === name) return
  throw new LoopchartError(
    'other_agent',
    `The run "${runId}" is of another program, which alone has its tools. Go on with it there: agent.resume or agent.fork.`,
  )
}
