import { units } from './units.ts'
import { toolNames, type Want } from './wants.ts'

const HAN = /\p{Script=Han}/u
const names = units.flatMap((unit) => unit.names).sort((a, b) => b.length - a.length)
const UNIT = `(?:${names.map(wholeName).join('|')})`
const VALUE = '(?<![\\w.])(?<value>-?\\d+(?:\\.\\d+)?)\\s*'
/** With "convert" in front even an unknown word is meant as a unit; the tool then says which ones there are. */
const ANY_UNIT = `(?:${UNIT}|[a-z°/]+)`
const ANY_CHINESE_UNIT = `(?:${UNIT}|\\p{Script=Han}{1,6})`

const PATTERNS: readonly RegExp[] = [
  `convert\\s+${VALUE}(?<from>${ANY_UNIT})\\s+(?:to|into|in)\\s+(?<to>${ANY_UNIT})`,
  `how many\\s+(?<to>${UNIT})\\s+(?:(?:is|are|there|in|make)\\s+)+${VALUE}(?<from>${UNIT})`,
  `${VALUE}(?<from>${UNIT})\\s*(?:to|into|in|as|is how many|equals how many|=\\s*how many|=)\\s+(?<to>${UNIT})`,
  `${VALUE}(?<from>${UNIT})\\s*(?:(?:是|等于|有|合|折合|相当于)\\s*(?:多少|几)|多少)\\s*(?<to>${ANY_CHINESE_UNIT})`,
  `${VALUE}(?<from>${UNIT})\\s*(?:换算|转换|转|换)(?:成|为|到)?\\s*(?:多少|几)?\\s*(?<to>${ANY_CHINESE_UNIT})`,
].map((pattern) => new RegExp(pattern, 'giu'))

/** The unit conversions in a question, "convert 5 km to miles" as well as "5公里是多少英里". */
export function findConversions(question: string): Want[] {
  return PATTERNS.flatMap((pattern) =>
    [...question.matchAll(pattern)].map((found) => ({
      at: found.index,
      tool: toolNames.conversion,
      args: {
        value: Number(found.groups?.value),
        from: found.groups?.from,
        to: found.groups?.to,
      },
    })),
  )
}

/** A unit's name as a pattern that does not end in the middle of a Latin word: `m` is not in "minutes". */
function wholeName(name: string): string {
  const escaped = name.replace(/[/.°]/g, (sign) => (sign === '.' ? '\\.' : sign === '/' ? '\\/' : sign))
  return HAN.test(name) ? escaped : `${escaped}(?![a-z/])`
}
