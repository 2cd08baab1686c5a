import { messageOf } from './errors.ts'
import { type CustomLimit, isCustomJudgement } from './machines/limits/customLimit.ts'
import type { ResultFormat } from './machines/resultFormat.ts'
import { hush, isThenable } from './thenables.ts'

/**
 * Limits of the user's own that say so when they break: one that throws, or gives back what is no judgement, costs one
 * process warning with the code `LOOPCHART_LIMIT` and bounds nothing. What is no function stays, to be refused.
 */
export function reportingLimits(
  limits: Readonly<Record<string, CustomLimit>> = {},
): Readonly<Record<string, CustomLimit>> {
  return Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => [
      name,
      typeof limit === 'function' ? reporting(name, limit) : limit,
    ]),
  )
}

function reporting(name: string, limit: CustomLimit): CustomLimit {
  let isReported = false
  const report = (problem: string): undefined => {
    if (!isReported)
      process.emitWarning(`The limit "${name}" ${problem}. It is ignored.`, { code: 'LOOPCHART_LIMIT' })
    isReported = true
  }
  return (facts) => {
    try {
      const judgement: unknown = limit(facts)
      if (judgement === undefined || judgement === null) return undefined
      if (isCustomJudgement(judgement)) return judgement
      hush(judgement)
      return report(
        isThenable(judgement)
          ? 'returned a promise, and limits must answer at once'
          : 'must return nothing or { reaction, evidence }, with the reaction warn, conclude or abort',
      )
    } catch (thrown) {
      return report(`threw: ${messageOf(thrown)}`)
    }
  }
}

/**
 * A format of the user's own that says so when it breaks: where it throws, or gives back no text, it costs one process
 * warning with the code `LOOPCHART_RESULT_FORMAT`, and the plain form stands in for it. What is no function stays, to be
 * refused.
 */
export function reportingFormat(format: ResultFormat | undefined): ResultFormat | undefined {
  if (typeof format !== 'function') return format
  let isReported = false
  const report = (problem: string): void => {
    if (!isReported) {
      process.emitWarning(`resultFormat ${problem}. The plain form stands in for it.`, {
        code: 'LOOPCHART_RESULT_FORMAT',
      })
    }
    isReported = true
  }
  return (call) => {
    try {
      const text: unknown = format(call)
      if (typeof text !== 'string') {
        hush(text)
        report(isThenable(text) ? 'returned a promise, and must answer at once' : 'must return a text')
      }
      return text as string
    } catch (thrown) {
      report(`threw: ${messageOf(thrown)}`)
      throw thrown
    }
  }
}
