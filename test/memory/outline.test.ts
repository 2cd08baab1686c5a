import { describe, expect, it } from 'vitest'
import {
  compose,
  type Message,
  memoryFacts,
  type OutlineOptions,
  outline,
  tokenBudget,
  turns,
} from '../../src/index.ts'
import { characters, exchange, says, user } from './support.ts'

const factsOf = (transcript: readonly Message[]) => memoryFacts(transcript, { tokenCounter: characters })

const talk = (n: number): readonly Message[] => [
  user(`question\n${n}`),
  ...exchange(`c${n}`, `result ${n}`, 'more'),
  says(`answer ${n}`),
]
const talks = (count: number): readonly Message[] =>
  Array.from({ length: count }, (_, i) => talk(i + 1)).flat()

/** A line may take as many tokens as it likes, which are characters here. */
const line = outline({ maxTokens: 10_000 })

describe('an outline', () => {
  it('tells in one line what is left out: how much, what was asked, called and answered', () => {
    const shown = compose(turns(1), line).view([...talks(5), user('now?')])
    expect(shown).toEqual([
      user(
        'Background, not an instruction: 25 earlier messages are left out; asked was "question 3", "question 4", ' +
          '"question 5" and 2 more; called were look_up ×10; answered was at last "answer 5"',
      ),
      user('now?'),
    ])
  })

  it('is nothing where nothing is left out: the same array is shown', () => {
    const transcript = [...talks(2), user('now?')]
    expect(compose(turns(9), line).view(transcript)).toBe(transcript)
  })

  it('keeps the request, the newest exchange and itself within the budget', () => {
    const transcript = [...talks(30), user('now?'), ...exchange('last', 'the last result')]
    const known = factsOf(transcript)
    for (let budget = 200; budget < 3000; budget += 50) {
      const shown = compose(tokenBudget(budget), outline({ maxTokens: 150 })).view(
        transcript,
        undefined,
        known,
      )
      expect(known.counter.countAll(shown)).toBeLessThanOrEqual(budget)
      expect(shown.slice(-3)).toEqual(transcript.slice(-3))
      expect(shown[0]?.content).toMatch(/^Background, not an instruction: \d+ earlier/)
    }
  })

  it('tells of what had to make way for itself', () => {
    const transcript = [...talks(10), user('now?')]
    const shown = compose(tokenBudget(1000), line).view(transcript, undefined, factsOf(transcript))
    expect(shown[0]?.content).toContain(`: ${transcript.length - shown.length + 1} earlier messages`)
  })

  it('is one line of at most so many tokens, whatever was said', () => {
    const transcript = [user('long\n'.repeat(500)), says('中'.repeat(500)), user('now?')]
    const known = factsOf(transcript)
    for (const maxTokens of [80, 110, 150]) {
      const [first] = compose(turns(1), outline({ maxTokens })).view(transcript, undefined, known)
      expect(known.counter.count(first as Message)).toBeLessThanOrEqual(maxTokens)
      expect(first?.content).not.toContain('\n')
      expect(first?.content).toMatch(/^Background, not an instruction: 2 earlier messages are left out/)
    }
  })

  it.each([
    ['characters', characters],
    ['a number that no text falls below', { count: () => 5000 }],
    ['more for shorter texts', { count: (text: string) => 10_000 - text.length }],
  ])('comes to an end and is left out where it has no room, by a counter of %s', (_, tokenCounter) => {
    const transcript = [...talks(2), user('now?')]
    for (let maxTokens = 1; maxTokens <= 30; maxTokens++) {
      const shown = compose(turns(1), outline({ maxTokens })).view(
        transcript,
        undefined,
        memoryFacts(transcript, { tokenCounter }),
      )
      expect(shown).toEqual([user('now?')])
    }
  })

  it('tells of its own conversation only, also where another one has messages in common', () => {
    const memory = compose(turns(1), line)
    const greeting = says('Hello! How can I help?')
    const told = ['I am Ada', 'I am Bob'].map((text) => memory.view([user(text), greeting, user('next?')])[0])
    expect(told[0]?.content).toContain('Ada')
    expect(told[1]?.content).toContain('Bob')
    expect(told[1]?.content).not.toContain('Ada')
  })

  it('is the same message as long as it says the same, so that it is counted once', () => {
    const memory = compose(turns(1), line)
    const transcript = [...talks(2), user('now?')]
    expect(memory.view(transcript)[0]).toBe(memory.view(transcript)[0])
  })

  it.each([[{ maxTokens: 0 }], [150], [null], [[]], ['150']])('cannot be of %j', (wrong) => {
    expect(() => outline(wrong as OutlineOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_memory', message: expect.stringContaining('outline(') }),
    )
  })
})
