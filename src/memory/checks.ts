import { MisuseError } from '../errors.ts'
import { isFields } from '../messages/fields.ts'
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

/** @throws MisuseError `invalid_memory` where something else than an object of options is given. */
export function checkOptions(strategy: string, options: unknown, example: string): void {
  if (isFields(options)) return
  throw new MisuseError(
    'invalid_memory',
    `${strategy}(…) takes an object of options, such as ${strategy}(${example}), not ${String(options)}.`,
  )
}
