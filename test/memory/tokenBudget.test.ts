import { describe, expect, it } from 'vitest'
import {
  ContextExhaustedError,
  findViolations,
  type Message,
  MisuseError,
  memoryFacts,
  tokenBudget,
} from '../../src/index.ts'
import { messageCounterOf } from '../../src/memory/memoryFacts.ts'
import { characters, exchange, outline, says, user } from './support.ts'

const counter = messageCounterOf(characters)
const sizeOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + counter.count(message), 0)

function shown(transcript: readonly Message[], tokens: number, calibration = 1): readonly Message[] {
  const facts = memoryFacts(transcript, { tokenCounter: characters, calibration })
  return tokenBudget(tokens).view(transcript, undefined, facts)
}

describe('a token budget', () => {
  const old = [user('old question'), ...exchange('a', 'old result'), says('old answer')]
  const newest = [user('new question'), ...exchange('b', 'first'), ...exchange('c', 'second')]
  const transcript = [...old, ...newest]

  it('changes nothing where everything fits: the same array comes back', () => {
    expect(shown(transcript, sizeOf(transcript))).toBe(transcript)
  })

  it('leaves out a whole turn rather than its question', () => {
    expect(shown(transcript, sizeOf(transcript) - 1)).toEqual([
      user('old question'),
      says('old answer'),
      ...newest,
    ])
    expect(shown(transcript, sizeOf(newest))).toEqual(newest)
  })

  it('keeps the last user message when exchanges behind it are left out', () => {
    const least = [user('new question'), ...exchange('c', 'second')]
    expect(shown(transcript, sizeOf(newest) - 1)).toEqual(least)
    expect(shown(transcript, sizeOf(least))).toEqual(least)
  })

  it('shortens the results of an exchange that is larger than the budget, the long ones first', () => {
    const huge = [user('q'), ...exchange('x', 'short', 'long '.repeat(400), 'longer '.repeat(400))]
    const view = shown(huge, 900)
    expect(sizeOf(view)).toBeLessThanOrEqual(900)
    expect(findViolations(view)).toEqual([])
    expect(view).toHaveLength(huge.length)
    expect(view[2]).toBe(huge[2])
    for (const position of [3, 4]) expect(view[position]?.content).toMatch(/^long.*left out.*long/s)
    expect(sizeOf(view)).toBeGreaterThan(600)
  })

  it('shows an older exchange that is too large with shortened results, instead of nothing before it', () => {
    const history = [user('q'), ...exchange('x', 'long '.repeat(400)), ...exchange('y', 'small')]
    const view = shown(history, 1200)
    expect(view.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool'])
    expect(sizeOf(view)).toBeLessThanOrEqual(1200)
  })

  it('keeps an older question where it just fits', () => {
    const asked = [user('first question'), user('second question')]
    expect(shown([...old, ...asked], sizeOf(asked))).toEqual(asked)
  })

  it('counts what is sent beside the conversation', () => {
    const facts = memoryFacts(transcript, {
      tokenCounter: characters,
      beside: { count: () => 50, atMost: () => 50 },
    })
    const size = sizeOf(transcript)
    expect(tokenBudget(size + 50).view(transcript, undefined, facts)).toBe(transcript)
    expect(tokenBudget(size + 49).view(transcript, undefined, facts)).not.toBe(transcript)
  })

  it('takes into account what the provider reports for each token that is counted', () => {
    const size = sizeOf(transcript)
    expect(shown(transcript, size * 2, 2)).toBe(transcript)
    expect(sizeOf(shown(transcript, size * 2 - 2, 2))).toBeLessThan(size)
    expect(shown(transcript, Math.ceil(size / 2), 0.5)).toBe(transcript)
  })

  it('keeps to what a refusal of the provider has taught, where that is less', () => {
    const ceiling = sizeOf(newest)
    const facts = memoryFacts(transcript, { tokenCounter: characters, ceiling })
    expect(outline(tokenBudget(1_000_000).view(transcript, undefined, facts))).toEqual(outline(newest))
  })

  it('says so where not even the last question fits', () => {
    const thrown = expect(() => shown([user('a very long question')], 10))
    thrown.toThrow(ContextExhaustedError)
    thrown.toThrow(/do not fit into 10 tokens.*Tried: .*shortening tool results/s)
  })

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses %d tokens', (tokens) => {
    expect(() => tokenBudget(tokens)).toThrow(MisuseError)
  })
})
