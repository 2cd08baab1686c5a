import { MisuseError } from '../errors.ts'
import type { Model } from '../models/model.ts'

/** @throws MisuseError `invalid_memory` where a count is not a whole number of at least 1. */
export function checkCount(what: string, count: number): number {
  if (Number.isInteger(count) && count >= 1) return count
  throw new MisuseError(
    'invalid_memory',
    `${what} must be a whole number of at least 1, not ${String(count)}.`,
  )
}

/** @throws MisuseError `invalid_memory` where something is given that is no model. */
export function checkModel(what: string, model: Model | undefined): void {
  if (model === undefined || typeof model?.generate === 'function') return
  throw new MisuseError('invalid_memory', `${what} must be a model, such as openaiChat('gpt-4.1-mini').`)
}
