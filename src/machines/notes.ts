import type { AgentContext } from './context.ts'

/** Notes that go to the model with one request and do not enter the transcript. */

export const EMPTY_REPLY_NOTE = 'Your last reply was empty. Call a tool if you need one; otherwise answer.'

export const TRUNCATED_REPLY_NOTE =
  'Your last reply was cut off at the output limit and was discarded. Answer again, shorter.'

export const MISSING_CALLS_NOTE =
  'Your last reply announced a tool call, but none arrived. Make the call, or give the answer itself.'

export const CLOSING_NOTE: string =
  'Tools can no longer be used in this conversation turn. Answer the last request now, from what is known so far. ' +
  'Say plainly what is missing or could not be verified.'

/** The note for the next model call after a reply that could not be used. */
export function nudge({ malformed, reply, transcript }: AgentContext): string | undefined {
  if (malformed === 0) return undefined
  // Calls that were cut off have been answered in the transcript; the model reads there what to do.
  if (transcript.at(transcript.length - 1)?.role === 'tool' && reply?.toolCalls.length !== 0) return undefined
  if (reply?.finish === 'length') return TRUNCATED_REPLY_NOTE
  return reply?.problem ?? EMPTY_REPLY_NOTE
}
