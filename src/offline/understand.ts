import { findConversions } from './findConversions.ts'
import { findExpressions } from './findExpressions.ts'
import { findLookups } from './findLookups.ts'
import { halfWidth } from './halfWidth.ts'
import { uniqueBy } from './uniqueBy.ts'
import type { Want } from './wants.ts'

export type Language = 'en' | 'zh'

/** Questions are read up to here, in characters. */
const READ_LENGTH = 4000

/** Chinese where there is a Chinese character, English elsewhere. */
export function languageOf(question: string): Language {
  return /\p{Script=Han}/u.test(question) ? 'zh' : 'en'
}

/** What a question asks for, in the order of the question, each thing once. */
export function understand(question: string): readonly Want[] {
  const text = halfWidth(question.slice(0, READ_LENGTH))
  const found = [
    ...findConversions(text),
    ...findExpressions(text),
    ...findLookups(text, languageOf(text) === 'zh'),
  ]
  return uniqueBy(found, (want) => keyOf(want.tool, want.args)).sort((a, b) => a.at - b.at)
}

/** The same for calls that ask the same of the same tool. */
export function keyOf(tool: string, args: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify([tool, Object.entries(args).sort(([a], [b]) => (a < b ? -1 : 1))])
}
