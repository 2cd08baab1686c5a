import { styleText } from 'node:util'
import { LoopchartError } from '../errors.ts'
import type { Journal, JournalEntry, RunSummary } from '../journal/entry.ts'
import { recordedBy } from '../journal/fingerprint.ts'
import { diff } from '../runtime/diff.ts'
import { type Replay, replay } from '../runtime/replay.ts'
import type { LookingCommand } from './arguments.ts'
import { printable } from './printable.ts'
import {
  beginningOf,
  conversationLines,
  type ListedRun,
  listLines,
  type Paint,
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
      const runs: ListedRun[] = []
      for (const summary of summaries) runs.push(await listed(journal, summary))
      if (!command.json) return print(listLines(runs, paint))
      if (runs.length > 0) printJson(runs)
      return
    }
    case 'show': {
      const { runId, entries } = await findRun(journal, command.runId)
      if (command.json) return printJson(entries)
      return print(conversationLines(replay(entries, { runId }), paint, command.full))
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
async function listed(journal: Journal, summary: RunSummary): Promise<ListedRun> {
  const { runId } = summary
  try {
    const entries = (await journal.load(runId)) ?? []
    const ending = summary.status === 'waiting' ? undefined : replay(entries, { runId }).ending
    const stoppedBy = ending === undefined || ending.status === 'waiting' ? undefined : ending.stoppedBy
    return {
      ...summary,
      ...beginningOf(entries),
      ...(stoppedBy === undefined ? {} : { limit: stoppedBy.limit }),
    }
  } catch (thrown) {
    if (!(thrown instanceof LoopchartError)) throw thrown
    return { ...summary, problem: thrown.message }
  }
}

/**
 * The command goes on with its own runs only: those of other programs have tools that it does not have.
 *
 * @throws LoopchartError `other_agent` for a run of another program.
 */
export function requireOwn(runId: string, entries: readonly JournalEntry[], name: string): void {
  if (recordedBy(entries)?.name === name) return
  throw new LoopchartError(
    'other_agent',
    `The run "${runId}" is of another program, which alone has its tools. Go on with it there: agent.resume or agent.fork.`,
  )
}
