import { chinesePlaceBefore, findKnownPlaces, findNamedPlaces, identityOf, type Place } from './findPlaces.ts'
import { uniqueBy } from './uniqueBy.ts'
import { toolNames, type Want } from './wants.ts'

/** What is asked about places: the words that ask for it, and the tool's argument that takes the place. */
interface Topic {
  readonly tool: string
  readonly argument: string
  readonly words: RegExp
}

/** A topic's words in a question, with the places that they are about. */
interface Mention {
  readonly topic: Topic
  readonly at: number
  readonly end: number
  readonly words: string
  places: Place[]
}

const topics: readonly Topic[] = [
  {
    tool: toolNames.weather,
    argument: 'city',
    words: /\b(?:weather|forecast|temperature)\b|天气|天氣|气温|氣溫/gi,
  },
  {
    tool: toolNames.time,
    argument: 'zone',
    words:
      /\bwhat time(?: is it)?\b|\b(?:the|current|local) time\b|\btime(?= (?:is it )?(?:now )?in\b)|\btime now\b|几点|幾點|时间|時間/gi,
  },
]

const SENTENCE_END = /[?!。;\n]|\.(?=\s|$)/g
const PREPOSITION = /\b(?:in|for|at|of)\s+$/i
/** What may stand between a place and the words that it belongs to: "Paris's current weather". */
const POSSESSIVE = /^(?:['’]s|\s|current|local)*$/i
/** Words that mean something else as well, where no place is named: "convert the temperature 100 F to C". */
const VAGUE = /temperature|气温|氣溫|时间|時間/i

/**
 * The questions about weather and time, one for each place. Words that name no place become wants without arguments.
 */
export function findLookups(question: string, chinese: boolean): Want[] {
  const mentions = topics
    .flatMap((topic) => [...question.matchAll(topic.words)].map((found) => mentionOf(topic, found)))
    .sort((a, b) => a.at - b.at)
  if (mentions.length === 0) return []
  const known = findKnownPlaces(question)
  const places = [...known, ...findNamedPlaces(question, known)].sort((a, b) => a.at - b.at)
  const stray = places.filter((place) => {
    const owner = ownerOf(place, mentions, question, chinese)
    owner?.places.push(place)
    return owner === undefined
  })
  mentions.forEach((mention, index) => {
    if (mention.places.length > 0 || VAGUE.test(mention.words)) return
    const unknown = chinesePlaceBefore(question, mentions[index - 1]?.end ?? 0, mention.at)
    if (unknown !== undefined) mention.places.push(unknown)
  })
  const named = mentions.map((mention, index) =>
    mention.places.length > 0 ? mention.places : sharedPlaces(index, mentions, stray, chinese),
  )
  return mentions.flatMap((mention, index) => wantsOf(mention, named[index] ?? []))
}

function mentionOf(topic: Topic, found: RegExpExecArray): Mention {
  return { topic, at: found.index, end: found.index + found[0].length, words: found[0], places: [] }
}

/** English asks first and then names the place, Chinese the other way round; both within one sentence. */
function ownerOf(
  place: Place,
  mentions: readonly Mention[],
  question: string,
  chinese: boolean,
): Mention | undefined {
  const sentence = sentenceOf(question, place.at)
  const near = mentions.filter((mention) => sentenceOf(question, mention.at) === sentence)
  const before = near.findLast((mention) => mention.end <= place.at)
  const after = near.find((mention) => mention.at >= place.end)
  const attached =
    after !== undefined &&
    POSSESSIVE.test(question.slice(place.end, after.at)) &&
    !PREPOSITION.test(question.slice(0, place.at))
  return chinese || attached ? (after ?? before) : (before ?? after)
}

function sentenceOf(question: string, at: number): number {
  return [...question.slice(0, at).matchAll(SENTENCE_END)].length
}

/** The places of words that name none themselves: "the weather and time in Paris", "东京几点，天气怎么样". */
function sharedPlaces(
  index: number,
  mentions: readonly Mention[],
  stray: readonly Place[],
  chinese: boolean,
): readonly Place[] {
  const before = mentions.slice(0, index).findLast((mention) => mention.places.length > 0)
  const after = mentions.slice(index + 1).find((mention) => mention.places.length > 0)
  const nearest = chinese ? (before ?? after) : (after ?? before)
  return nearest?.places ?? stray
}

function wantsOf({ topic, at, words }: Mention, places: readonly Place[]): Want[] {
  if (places.length === 0) return VAGUE.test(words) ? [] : [{ at, tool: topic.tool }]
  return uniqueBy(places, (place) => identityOf(place.name)).map((place) => ({
    at: Math.max(at, place.at),
    tool: topic.tool,
    args: { [topic.argument]: place.name },
  }))
}
