import { MisuseError } from './errors.ts'
import type { Decision } from './machines/reducers.ts'
import { canonicalJson } from './messages/canonicalJson.ts'
import type { Message } from './messages/types.ts'
import { approvalToken } from './runtime/approvalToken.ts'
import type { AgentSnapshot } from './runtime/pureMachine.ts'
import type { RunTools } from './tools/toolbox.ts'

/**
 * Checks what a person decided against the calls that wait for it. Deciding again on a call that was decided on is
 * harmless; so is deciding on a run that has ended.
 *
 * @throws MisuseError `unknown_call` for a call that there is not in the run, `approval_mismatch` where the person saw another call,
 * `invalid_arguments` where changed arguments do not fit the tool.
 */
export async function checkDecisions(
  { context }: AgentSnapshot,
  decisions: readonly Decision[],
  tools: RunTools,
): Promise<void> {
  const { calls, step, transcript } = context
  const pending = calls.filter(({ approval }) => approval === 'pending').map(({ call }) => call.id)
  for (const { callId, approved, inDoubt, token, arguments: edited } of decisions) {
    const named = calls.find((open) => open.call.id === callId)
    const open = named?.sameAs === undefined ? named : calls[named.sameAs]
    if (open === undefined) {
      const isOfEarlierStep = (): boolean => transcript.toArray().some((message) => asksFor(message, callId))
      if ((pending.length === 0 || inDoubt === true) && isOfEarlierStep()) continue
      throw new MisuseError(
        'unknown_call',
        `The run waits for no decision on the call "${callId}", ${pending.length === 0 ? 'and there is none in it' : `only on ${pending.join(', ')}`}.`,
      )
    }
    if (open.approval !== 'pending') continue
    const { call } = open
    if (token !== undefined && token !== approvalToken(call)) {
      throw new MisuseError(
        'approval_mismatch',
        `The decision on call "${callId}" was made for other arguments than the call has. Show the person the call anew.`,
      )
    }
    if (edited === undefined || !approved) continue
    const asked = transcript.prefix(transcript.length - 1)
    const tool = tools.at(step, () => asked.toArray()).byName.get(call.function.name)
    const parsed = await tool?.parse(edited)
    if (parsed?.ok === false) {
      throw new MisuseError(
        'invalid_arguments',
        `The changed arguments of call "${callId}" do not fit ${call.function.name}: ${parsed.issues.join('; ')}. ` +
          `They are ${canonicalJson(edited)}.`,
      )
    }
  }
}

function asksFor(message: Message, callId: string): boolean {
  return message.role === 'assistant' && message.tool_calls?.some(({ id }) => id === callId) === true
}
