import { cityNames, findCity } from './cities.ts'

/** A place that a question names. */
export interface Place {
  readonly name: string
  readonly at: number
  readonly end: number
}

const HAN = /\p{Script=Han}/u
const longestFirst = [...cityNames].sort((a, b) => b.length - a.length)
const englishNames = longestFirst.filter((name) => !HAN.test(name)).join('|')
const chineseNames = longestFirst.filter((name) => HAN.test(name)).join('|')
const KNOWN_CITY = new RegExp(`(?<![a-z])(?:${englishNames})(?![a-z])|${chineseNames}`, 'gi')
const TIME_ZONE = /\b[A-Z][A-Za-z]+(?:\/[A-Z][A-Za-z_]+)+|(?<![A-Za-z])(?:UTC|GMT)(?![A-Za-z])/g
const NAMED_IN_ENGLISH = /\b(?:in|for|at)\s+((?:the\s+)?[A-Z][\p{L}'-]+(?:\s+[A-Z][\p{L}'-]+)*)/gu
const NAMED_IN_LOWER_CASE = /\b(?:in|for)\s+([a-z][a-z'-]+)/g
const NOT_A_PLACE =
  /^(?:the|my|this|that|your|our|which|what|celsius|fahrenheit|kelvin|degrees|total|all|me|today|tonight|tomorrow|now)\b/i

const FILLER_BEFORE =
  /^(?:请问|请|帮我|帮忙|我想知道|我想|知道|告诉我|想|顺便|再|也|还有|另外|然后|查一下|查查|查|看一下|看看|看|说说|一下|那么|那|今天|明天|现在|当前|目前|和|跟|与|以及|怎么样|如何|的)/
const FILLER_AFTER = /(?:今天|明天|现在|当前|目前|此刻|这会儿|当地|是|的|市)$/

/** The known cities and time zones of a question, in order. */
export function findKnownPlaces(question: string): Place[] {
  const zones = matches(question, TIME_ZONE)
  const inCities = matches(question, KNOWN_CITY).filter((city) => !zones.some((zone) => overlap(zone, city)))
  return [...zones, ...inCities].sort((a, b) => a.at - b.at)
}

/** English names that stand where a place stands but are not known: the tool is to say so. */
export function findNamedPlaces(question: string, others: readonly Place[]): Place[] {
  const named = [NAMED_IN_ENGLISH, others.length === 0 ? NAMED_IN_LOWER_CASE : undefined]
    .flatMap((pattern) => (pattern === undefined ? [] : [...question.matchAll(pattern)]))
    .map((found): Place => {
      const name = found[1] ?? ''
      const end = found.index + found[0].length
      return { name, at: end - name.length, end }
    })
  return named.filter(
    (place) => !NOT_A_PLACE.test(place.name) && !others.some((other) => overlap(other, place)),
  )
}

/**
 * The Chinese words between `start` and `end`, right before `end`, less everything that is not a name: 火星 of
 * "顺便看看火星今天的天气".
 */
export function chinesePlaceBefore(question: string, start: number, end: number): Place | undefined {
  let name = /\p{Script=Han}{0,20}$/u.exec(question.slice(start, end))?.[0] ?? ''
  const stripped = (): string => name.replace(FILLER_BEFORE, '').replace(FILLER_AFTER, '')
  while (stripped() !== name) name = stripped()
  return name.length >= 2 && name.length <= 8 ? { name, at: end, end } : undefined
}

/** One value for all spellings of a place. */
export function identityOf(name: string): string {
  return findCity(name)?.name ?? name.toLowerCase()
}

function matches(question: string, pattern: RegExp): Place[] {
  return [...question.matchAll(pattern)].map((found) => ({
    name: found[0],
    at: found.index,
    end: found.index + found[0].length,
  }))
}

function overlap(a: Place, b: Place): boolean {
  return a.at < b.end && b.at < a.end
}
