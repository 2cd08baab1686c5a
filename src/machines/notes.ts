import type { AgentContext } from './context.ts'

/** Notes that go to the model with one request and do not enter the transcript. */

/**
 * The note for the next model call: what was wrong with the last reply, and what limits warn of. Either can quote what a
 * provider would refuse.
 */
export function noteFor(context: AgentContext): string | undefined {
  const notes = [replyNote(context), ...warningNotes(context)].filter((note) => note !== undefined)
  return notes.length === 0 ? undefined : notes.join('\n\n').toWellFormed()
}

function replyNote({ malformed, reply, policy: { texts } }: AgentContext): string | undefined {
  if (malformed === 0 || reply === undefined) return undefined
  // Calls that were cut off have been answered in the transcript; the model reads there what to do.
  if (reply.toolCalls.length > 0) return undefined
  if (reply.finish === 'length') return texts.truncatedReply
  return reply.problem ?? texts.emptyReply
}

/** Those of repeated calls stand with their results. A reply that could not be used is questioned by a note of its own. */
function warningNotes({ warnings }: AgentContext): readonly string[] {
  return warnings.filter(({ limit }) => !toldElsewhere.has(limit)).map(({ text }) => text)
}

const toldElsewhere: ReadonlySet<string> = new Set(['repeats', 'sameCalls', 'malformed'])
