import { busy, MODEL, refused, type ScriptedActor, tooLong, turn } from './scriptedActor.ts'
import type { SpecEvent } from './specModel.ts'

const toolNames = ['tool0', 'tool1', 'tool2']

/** Makes an event of the spec happen in the real machine. */
export async function perform(real: ScriptedActor, event: SpecEvent): Promise<void> {
  switch (event.type) {
    case 'ANSWER':
      real.settle(turn('The answer.'), MODEL)
      break
    case 'EMPTY':
      real.settle(turn(''), MODEL)
      break
    case 'REFUSED':
      real.settle({ ...turn(''), reply: { ...turn('').reply, finish: 'content_filter' } }, MODEL)
      break
    case 'CALLS':
      real.settle(turn('', toolNames.slice(0, event.count)), MODEL)
      break
    case 'CALLS_CUT_OFF':
      real.settle(
        { ...turn('', ['tool0']), reply: { ...turn('', ['tool0']).reply, finish: 'length' } },
        MODEL,
      )
      break
    case 'CALL_NEEDING_APPROVAL':
      real.settle({ ...turn('', ['tool0']), needsApproval: [0] }, MODEL)
      break
    case 'CALLS_OF_BOTH_KINDS':
      real.settle({ ...turn('', ['tool0', 'tool1']), needsApproval: [1] }, MODEL)
      break
    case 'BUSY':
      real.fail(busy, MODEL)
      break
    case 'FAIL':
      real.fail(refused, MODEL)
      break
    case 'TOO_LONG':
      real.fail(tooLong, MODEL)
      break
    case 'SLEPT':
      real.settle(undefined, ['sleep.'])
      break
    case 'TOOL':
      settleTool(real, event.position, event.ok)
      break
    case 'APPROVE':
    case 'REJECT':
      decide(real, event.type === 'APPROVE')
      break
    case 'COMPACTED':
      real.settle({ state: 'short', tokensBefore: 9, tokensAfter: 1 }, ['compact.'])
      break
    case 'COMPACTION_FAILED':
      real.fail(new Error('no summary'), ['compact.'])
      break
    case 'EXHAUSTED':
      real.settle({ tokensBefore: 9, tokensAfter: 9, exhausted: 'nothing fits' }, ['compact.'])
      break
    case 'SEND':
      real.actor.send({ type: 'SEND', message: { role: 'user', content: 'and then?' } })
      break
    case 'SHORT_OF_TIME':
      real.settle(undefined, ['deadline.conclude'])
      break
    case 'OUT_OF_TIME':
      real.settle(undefined, ['deadline.abort'])
      break
    case 'CLOCK_BREAKS':
      real.fail(new Error('no clock'), ['deadline.conclude'])
      break
    case 'CANCEL':
      real.actor.send({ type: 'CANCEL' })
      break
  }
  await real.heard()
}

/** The second tool fails as an actor that rejects, the others with an answer that names an error. */
function settleTool(real: ScriptedActor, position: number, ok: boolean): void {
  const place = `.${position}`
  if (ok) real.settle({ content: 'ok' }, ['tool.'], place)
  else if (position === 1) real.fail(new Error('an actor that rejects'), ['tool.'], place)
  else real.settle({ content: 'Error', error: 'failed' }, ['tool.'], place)
}

function decide({ actor }: ScriptedActor, approved: boolean): void {
  const pending = actor.getSnapshot().context.calls.find(({ approval }) => approval === 'pending')
  if (pending === undefined) throw new Error('nothing waits for approval')
  actor.send({ type: 'DECIDE', decision: { callId: pending.call.id, approved } })
}
