import { MisuseError } from '../errors.ts'
import type { CustomLimit } from './limits/customLimit.ts'
import { limitNames } from './limits/limits.ts'
import { plainResult, type ResultFormat, totalFormat } from './resultFormat.ts'
import { checkedTexts } from './texts/checkedTexts.ts'
import { type LimitTexts, limitTexts } from './texts/limitTexts.ts'

/** What an agent's loop judges and speaks with, beside its settings: functions, so the journal does not keep them. */
export interface Policy {
  readonly texts: LimitTexts
  readonly resultFormat: ResultFormat
  /** Limits of the agent's own, by name, in the order in which they were given. */
  readonly customLimits: readonly (readonly [name: string, limit: CustomLimit])[]
  /** What inspectors show of it. */
  toJSON(): unknown
}

export interface PolicyInput {
  readonly texts?: LimitTexts | undefined
  readonly resultFormat?: ResultFormat | undefined
  readonly customLimits?: Readonly<Record<string, CustomLimit>> | undefined
}

export const defaultPolicy: Policy = policyOf({})

/**
 * @throws MisuseError `invalid_limit` for a limit that is no function, or has the name of one that exists, `invalid_texts`
 * for texts that are not all there, and `invalid_option` for a format that is no function.
 */
export function policyOf({
  texts = limitTexts.en,
  resultFormat = plainResult,
  customLimits = {},
}: PolicyInput): Policy {
  if (typeof resultFormat !== 'function') {
    throw new MisuseError(
      'invalid_option',
      'resultFormat must be a function of a settled call that returns a text, such as resultEnvelope.',
    )
  }
  for (const [name, limit] of Object.entries(customLimits)) {
    if (limitNames.some((known) => known === name)) {
      throw new MisuseError(
        'invalid_limit',
        `customLimits.${name} has the name of a limit that exists. Set that one with limits.${name}, or choose another name.`,
      )
    }
    if (typeof limit !== 'function') {
      throw new MisuseError(
        'invalid_limit',
        `customLimits.${name} must be a function of the run's facts that returns nothing or { reaction, evidence }.`,
      )
    }
  }
  return {
    texts: texts === limitTexts.en ? texts : checkedTexts(texts),
    resultFormat: resultFormat === plainResult ? plainResult : totalFormat(resultFormat),
    customLimits: Object.entries(customLimits),
    toJSON: () => ({ customLimits: Object.keys(customLimits) }),
  }
}
