import { capText } from '../messages/capText.ts'
import type { Message, ToolMessage } from '../messages/types.ts'
import type { MessageCounter } from './tokens/messageCounter.ts'
import type { Exchange } from './trim.ts'
import type { View } from './view.ts'

/** Caps are rounded down to steps of this part of an octave, so that a budget which moves a little cuts nothing anew. */
const STEPS_PER_OCTAVE = 8

/** A cut that came out too long is tried again, aimed this much below what is needed. */
const MARGIN = 0.95

/** How often a cut is aimed anew before it is made by bytes, which tokens cannot exceed. */
const AIMS = 3

/**
 * The results of an exchange, shortened so that the exchange takes at most `share` tokens, by position. Short results
 * stay as they are, long ones are cut to the same length.
 */
export function shortenedResults(
  view: View,
  { start, end }: Exchange,
  share: number,
  counter: MessageCounter,
): ReadonlyMap<number, Message> {
  const shortened = new Map<number, Message>()
  const results: { readonly position: number; readonly message: ToolMessage; readonly size: number }[] = []
  let left = share
  for (let position = start; position < end; position++) {
    const message = view.at(position) as Message
    if (message.role === 'tool') results.push({ position, message, size: counter.count(message) })
    else left -= counter.count(message)
  }
  const cap = fairCap(
    results.map(({ size }) => size),
    left,
  )
  for (const { position, message, size } of results) {
    if (size > cap) shortened.set(position, shortenedTo(message, roundedDown(cap), counter))
  }
  return shortened
}

/** The cap at which sizes add up to `total`: what short ones leave over goes to the long ones. */
function fairCap(sizes: readonly number[], total: number): number {
  let left = total
  const ascending = [...sizes].sort((a, b) => a - b)
  for (const [i, size] of ascending.entries()) {
    const fair = left / (ascending.length - i)
    if (size > fair) return fair
    left -= size
  }
  return Number.POSITIVE_INFINITY
}

function roundedDown(cap: number): number {
  if (cap < 1) return 0
  return Math.floor(2 ** (Math.floor(Math.log2(cap) * STEPS_PER_OCTAVE) / STEPS_PER_OCTAVE))
}

interface Shortened {
  readonly cap: number
  readonly message: ToolMessage
}

const known = new WeakMap<MessageCounter, WeakMap<ToolMessage, Shortened>>()

function shortenedTo(message: ToolMessage, cap: number, counter: MessageCounter): ToolMessage {
  const cache = known.get(counter) ?? new WeakMap<ToolMessage, Shortened>()
  known.set(counter, cache)
  const last = cache.get(message)
  if (last?.cap === cap) return last.message
  const shortened = cut(message, cap, counter)
  cache.set(message, { cap, message: shortened })
  return shortened
}

function cut(message: ToolMessage, cap: number, counter: MessageCounter): ToolMessage {
  const { content } = message
  const tokensPerUnit = counter.count(message) / Math.max(1, content.length)
  let aim = cap
  for (let i = 0; i < AIMS; i++) {
    const estimate = (text: string): number => Math.ceil(text.length * tokensPerUnit)
    const candidate = { ...message, content: capText(content, Math.max(0, aim), estimate) }
    const size = counter.count(candidate)
    if (size <= cap) return candidate
    aim = Math.floor(((aim * cap) / size) * MARGIN)
  }
  const empty = { ...message, content: '' }
  const bytes = Math.max(0, cap - counter.count(empty))
  const short = { ...message, content: capText(content, bytes, (text) => Buffer.byteLength(text)) }
  return counter.count(short) <= cap ? short : empty
}
