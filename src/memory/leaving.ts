import type { Message } from '../messages/types.ts'
import { requestBefore } from './view.ts'

/**
 * The messages that are no longer shown once a view begins at `to` instead of `from`. A user message that stays because
 * its turn is shown in part has not left; it leaves when its turn does.
 */
export function messagesLeaving(
  transcript: readonly Message[],
  from: number,
  to: number,
): readonly Message[] {
  const stayed = requestBefore(transcript, from)
  const stays = requestBefore(transcript, to)
  const late = stayed === undefined || stayed === stays ? [] : [transcript[stayed] as Message]
  const passed = transcript.slice(from, to).filter((_, i) => from + i !== stays)
  return [...late, ...passed]
}
