import { describe, expect, it } from 'vitest'
import { shownIn } from '../../../src/inspect/page/run/shown.ts'
import type { Message } from '../../../src/messages/types.ts'

const ask = (content: string): Message => ({ role: 'user', content })
const result = (id: string, content: string): Message => ({ role: 'tool', tool_call_id: id, content })
const call = (id: string): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 't', arguments: '{}' } }],
})

const transcript = [
  ask('first'),
  call('a'),
  result('a', 'a long result'),
  ask('second'),
  call('b'),
  result('b', 'short'),
]

describe('what a request shows of a transcript', () => {
  it('is all of it, beside the system message', () => {
    const system: Message = { role: 'system', content: 'Be brief.' }
    expect(shownIn(transcript, [system, ...transcript])).toEqual({
      transcript: transcript.map(() => 'whole'),
      added: [0],
    })
  })

  it('tells what was left out, what was shortened, and what was added', () => {
    const request = [ask('A summary.'), call('a'), result('a', 'a…'), ...transcript.slice(3), ask('A note.')]
    expect(shownIn(transcript, request)).toEqual({
      transcript: ['left out', 'whole', 'shortened', 'whole', 'whole', 'whole'],
      added: [0, 6],
    })
  })

  it('takes of messages that are the same the last ones', () => {
    const same = [ask('again'), ask('again'), ask('again')]
    expect(shownIn(same, [ask('again')]).transcript).toEqual(['left out', 'left out', 'whole'])
  })

  it('does not take a message for one that stands behind another that was shown', () => {
    const { transcript: showings, added } = shownIn([ask('x'), ask('y')], [ask('y'), ask('x')])
    expect(showings).toEqual(['whole', 'left out'])
    expect(added).toEqual([0])
  })
})
