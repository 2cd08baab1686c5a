import { LoopchartError } from '../errors.ts'
import type { Message } from '../messages/types.ts'
import type { MemoryFacts } from './memoryFacts.ts'
import { shortenedResults } from './shorten.ts'
import { requestBefore, type View } from './view.ts'

/** An older exchange that takes more than this share of the room is shown with shortened results. */
const LARGE = 1 / 2

/** The share of the room that is left to an older exchange whose results are shortened. */
const SHORTENED = 1 / 4

/** Not even the last request and the newest exchange, with its results shortened, can be made to fit. */
export class ContextExhaustedError extends LoopchartError {
  override readonly name = 'ContextExhaustedError'

  constructor(message: string) {
    super('context_exhausted', message)
  }
}

/**
 * Makes a view fit its limit: the newest exchanges that fit are kept, with the user message of the turn in which the
 * cut lies. Results of an exchange that is too large are shortened; it is not dropped for its size.
 *
 * @throws ContextExhaustedError where even the least does not fit.
 */
export function trim(view: View, facts: MemoryFacts): View {
  if (fits(view, facts)) return view
  const room = roomFor(view.limit, facts)
  const behind = facts.counter.countAll(view.background)
  const fitted =
    newestThatFit(view, room - behind, facts) ??
    // What is known of the past gives way to what is asked now.
    (behind === 0 ? undefined : newestThatFit(view.withoutBackground(), room, facts))
  if (fitted !== undefined) return fitted
  throw new ContextExhaustedError(
    `The last user message and the newest exchange do not fit into ${Math.max(0, room)} tokens, which is what the limit ` +
      `of ${view.limit === Number.POSITIVE_INFINITY ? 'the provider' : view.limit} leaves beside the system message and ` +
      'the tools. Tried: leaving out older exchanges, leaving out summaries and facts, shortening tool results. Ask ' +
      'for less, or give the memory a larger budget.',
  )
}

/** Whether a view is within its limit as it is. Where that is certain without counting, nothing is counted. */
export function fits(view: View, facts: MemoryFacts): boolean {
  const { limit } = view
  if (limit === Number.POSITIVE_INFINITY && facts.ceiling === Number.POSITIVE_INFINITY) return true
  return (view.isWhole && surelyFits(limit, facts)) || isWithin(view, roomFor(limit, facts), facts)
}

function surelyFits(limit: number, { calibration, ceiling, beside, wholeAtMost }: MemoryFacts): boolean {
  const whole = wholeAtMost()
  return whole <= ceiling && Math.max(1, calibration) * (whole + beside.atMost()) <= limit
}

/**
 * Tokens, as they are counted, that are left to the conversation by a limit on the request, and by what refusals of the
 * provider have taught.
 *
 * @param limit Tokens as the provider counts them.
 */
export function roomFor(limit: number, { calibration, beside, ceiling }: MemoryFacts): number {
  if (limit === Number.POSITIVE_INFINITY) return ceiling
  return Math.min(ceiling, Math.floor(limit / calibration) - beside.count())
}

/** Adds up from the newest message on, and only until it is clear. */
function isWithin(view: View, room: number, { counter }: MemoryFacts): boolean {
  const { request, start, transcript } = view
  let left = room - counter.countAll(view.background)
  if (request !== undefined) left -= counter.count(view.at(request) as Message)
  for (let i = transcript.length - 1; i >= start && left >= 0; i--)
    left -= counter.count(view.at(i) as Message)
  return left >= 0
}

/** The view with as many of the newest exchanges as fit; `undefined` where not even the newest one does. */
function newestThatFit(view: View, room: number, facts: MemoryFacts): View | undefined {
  const { counter } = facts
  const shortened = new Map<number, Message>()
  let used = 0
  let best: number | undefined
  for (const exchange of exchangesBackward(view)) {
    const { start, request } = exchange
    const requestSize = request === undefined ? 0 : counter.count(view.at(request) as Message)
    const isNewest = best === undefined
    const size = exchangeSize(view, exchange, facts)
    const share = isNewest ? room - requestSize : Math.floor(room * SHORTENED)
    let taken = size
    if (isNewest ? size > share : size > room * LARGE) {
      const shorter = shortenedResults(view, exchange, share, counter)
      for (const [position, message] of shorter) shortened.set(position, message)
      taken = exchangeSize(view.withShortened(shorter), exchange, facts)
    }
    used += taken
    if (used > room) break
    if (used + requestSize <= room) best = start
    else if (isNewest) break
  }
  if (best === undefined) return undefined
  const from = best
  const needed = new Map([...shortened].filter(([position]) => position >= from))
  return view.from(from).withShortened(needed)
}

/** A message with what belongs to it: an assistant message and the results of its calls; or one message alone. */
export interface Exchange {
  readonly start: number
  /** The position after its last message. */
  readonly end: number
  /** The user message that stays where the view begins with this exchange. */
  readonly request: number | undefined
}

/** The exchanges that a view shows, the newest first. */
export function* exchangesBackward({ transcript, start: first }: View): Generator<Exchange> {
  let end = transcript.length
  // The user message of the present turn; `undefined` where it has not been looked for, -1 where there is none.
  let request: number | undefined
  for (let start = end - 1; start >= first; start--) {
    const { role } = transcript[start] as Message
    if (role === 'tool') continue
    if (role === 'user') {
      request = undefined
      yield { start, end, request: undefined }
    } else {
      request ??= requestBefore(transcript, start) ?? -1
      yield { start, end, request: request < 0 ? undefined : request }
    }
    end = start
  }
}

function exchangeSize(view: View, { start, end }: Exchange, { counter }: MemoryFacts): number {
  let size = 0
  for (let i = start; i < end; i++) size += counter.count(view.at(i) as Message)
  return size
}
