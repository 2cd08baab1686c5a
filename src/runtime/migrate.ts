import type { JournalEntry } from '../journal/entry.ts'
import type { AgentMachine } from '../machines/agentMachine.ts'
import type { AgentContext, RunInput } from '../machines/context.ts'
import type { ToolAnswer } from '../machines/effects.ts'
import { recordResults } from '../machines/reducers.ts'
import { toolError } from '../messages/toolTexts.ts'
import type { Message } from '../messages/types.ts'
import { JournalFold } from './journalFold.ts'
import { ledMachine, type Reading } from './ledMachine.ts'
import { PureMachine, stateOf } from './pureMachine.ts'

/** A run as its journal tells it, whatever the agent would do today. */
export function recordedRun(
  machine: AgentMachine,
  entries: readonly JournalEntry[],
  runId: string,
): JournalFold {
  const reading: Reading = { position: 0 }
  const journal = new JournalFold(new PureMachine(ledMachine(machine, entries, reading)), {
    runId,
    watched: false,
  })
  for (const [position, entry] of entries.entries()) {
    reading.position = position
    journal.take(entry)
  }
  return journal
}

/**
 * What a run has come to, as the input of a run that goes on from there: for an agent that would not have taken the
 * recorded steps. Open calls are answered, so nothing of them runs. Settings stay; what the memory had made of the
 * conversation does not, because the memory may be another one.
 */
export function migratedInput(journal: JournalFold): RunInput {
  const begun = new Set(journal.inDoubt.map(({ effect }) => effect.input.call.id))
  const { context } = journal.fold.snapshot
  // A step whose reply has not come is asked for anew, and does not count twice.
  const isAsking = stateOf(journal.fold.snapshot).startsWith('thinking')
  return inputOf(withoutOpenCalls(isAsking ? { ...context, step: context.step - 1 } : context, begun))
}

/** @param begun Ids of the calls that had begun and did not report. */
function withoutOpenCalls(context: AgentContext, begun: ReadonlySet<string>): AgentContext {
  const { calls } = context
  if (calls.length === 0) return context
  const answerTo = (callId: string): ToolAnswer =>
    begun.has(callId) ? toolError('in_doubt', {}) : toolError('cancelled', { begun: false })
  const answered = calls.map((open) => {
    const { call } = (open.sameAs === undefined ? undefined : calls[open.sameAs]) ?? open
    return { answer: answerTo(call.id), ...open }
  })
  return { ...context, ...recordResults({ ...context, calls: answered }) }
}

function inputOf({ instructions, transcript, sent, memory, settings, ...context }: AgentContext): RunInput {
  const { state: _ofAnotherMemory, ...kept } = memory
  const { step, closings, usage, usageByModel, cost, elapsedMs, toolCalls, toolErrors, answeredBy } = context
  const system: readonly Message[] =
    instructions === undefined ? [] : [{ role: 'system', content: instructions }]
  return {
    messages: [...system, ...transcript.toArray(), ...sent],
    memory: kept,
    ...settings,
    carried: {
      step,
      closings,
      usage,
      usageByModel,
      cost,
      elapsedMs,
      toolCalls,
      toolErrors,
      answeredBy,
    },
  }
}
