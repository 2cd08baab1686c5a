import { MisuseError } from '../errors.ts'
import type { Memory } from './memory.ts'

/**
 * Shows the last `count` turns. A turn is a user message with everything up to the next one, so a tool call is never
 * parted from its result and the last user message is always there.
 *
 * @throws MisuseError `invalid_memory` where `count` is not a whole number of at least 1.
 */
export function turns(count: number): Memory {
  if (!(Number.isInteger(count) && count >= 1)) {
    throw new MisuseError(
      'invalid_memory',
      `turns(count): count must be a whole number of at least 1, not ${count}.`,
    )
  }
  return {
    view(transcript) {
      let left = count
      for (let i = transcript.length - 1; i > 0; i--) {
        if (transcript[i]?.role === 'user' && --left === 0) return transcript.slice(i)
      }
      return transcript
    },
  }
}
