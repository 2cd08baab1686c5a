import { describe, expect, it } from 'vitest'
import { CLEARED_RESULT, clearOldToolResults, MisuseError, memoryFacts } from '../../src/index.ts'
import { characters, exchange, user } from './support.ts'

const long = (text: string): string => `${text} `.repeat(50)

describe('clearing old tool results', () => {
  const transcript = [
    user('q'),
    ...exchange('a', long('one'), 'ok'),
    ...exchange('b', long('two'), long('three')),
  ]

  it('puts a note in the place of all but the newest, and keeps every call paired with its result', () => {
    expect(clearOldToolResults({ keep: 1 }).view(transcript)).toEqual([
      user('q'),
      ...exchange('a', CLEARED_RESULT, 'ok'),
      ...exchange('b', CLEARED_RESULT, long('three')),
    ])
  })

  it('leaves results that are no longer than the note', () => {
    expect(clearOldToolResults({ keep: 1 }).view(transcript)[3]?.content).toBe('ok')
  })

  it('changes nothing while there are no more results than that', () => {
    expect(clearOldToolResults({ keep: 4 }).view(transcript)).toBe(transcript)
  })

  it('changes nothing up to a number of tokens, where one is given', () => {
    const facts = memoryFacts(transcript, { tokenCounter: characters })
    const size = transcript.reduce((sum, message) => sum + facts.counter.count(message), 0)
    expect(clearOldToolResults({ keep: 1, at: size }).view(transcript, undefined, facts)).toBe(transcript)
    expect(clearOldToolResults({ keep: 1, at: size - 1 }).view(transcript, undefined, facts)).not.toBe(
      transcript,
    )
  })

  it.each([{ keep: 0 }, { keep: 1.5 }, { keep: 1, at: -1 }])('refuses %j', (options) => {
    expect(() => clearOldToolResults(options)).toThrow(MisuseError)
  })
})
