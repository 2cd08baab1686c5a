import type { Counted } from '../limits/judgement.ts'
import type { LimitName } from '../limits/limits.ts'
import { chinese } from './chinese.ts'
import { english } from './english.ts'

/** What the model is told when a limit warns, questions a reply or ends the run, and what stands in for an answer. */
export interface LimitTexts {
  /** After a reply without text and calls. */
  readonly emptyReply: string
  /** After an answer that was cut off at the output limit. */
  readonly truncatedReply: string
  /** After a reply that announced calls of which there were none. */
  readonly missingCalls: string
  /** With the closing call, in which tools are off. */
  readonly closing: string
  /**
   * By the limit that warns. That of `repeats` and of `sameCalls` stands below the result, or in its place where the call
   * was not run; the others go with the next request.
   */
  readonly warnings: { readonly [Limit in LimitName]: (counted: Counted) => string }
  /** For limits of the agent's own. */
  customWarning(judgement: { readonly limit: string; readonly evidence: string }): string
  /** The partial answer of a run that a limit ended without one: the last words of the model, and the last results. */
  noAnswer(facts: { readonly said: string | undefined; readonly results: readonly PartialResult[] }): string
}

/** A result of the last step, shortened. */
export interface PartialResult {
  readonly tool: string
  readonly content: string
}

/**
 * The texts in English, the default, and in Chinese: `createAgent({ texts: limitTexts.zh })`, or some of them replaced
 * with `{ ...limitTexts.en, closing: '…' }`.
 */
export const limitTexts: { readonly en: LimitTexts; readonly zh: LimitTexts } = { en: english, zh: chinese }
