import { describe, expect, it } from 'vitest'
import { createAgent, type Message, MisuseError, turns } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { countingAdd } from '../support/tools.ts'

const turn = (n: number): Message[] => [
  { role: 'user', content: `question ${n}` },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `c${n}`, type: 'function', function: { name: 'add', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: `c${n}`, content: 'result' },
  { role: 'assistant', content: `answer ${n}` },
]
const transcript = [...turn(1), ...turn(2), ...turn(3)]

describe('turns', () => {
  it('shows the last turns, each whole', () => {
    expect(turns(1).view(transcript, undefined)).toEqual(turn(3))
    expect(turns(2).view(transcript, undefined)).toEqual([...turn(2), ...turn(3)])
  })

  it('changes nothing where there are no more turns than that', () => {
    expect(turns(3).view(transcript, undefined)).toBe(transcript)
    expect(turns(9).view(transcript, undefined)).toBe(transcript)
  })

  it('keeps what stands before the first user message with the first turn', () => {
    const greeted: Message[] = [{ role: 'assistant', content: 'Hello!' }, ...turn(1)]
    expect(turns(1).view(greeted, undefined)).toEqual(turn(1))
    expect(turns(2).view(greeted, undefined)).toBe(greeted)
  })

  it('shapes each request of a run, which itself stays within its turn', async () => {
    const model = scriptedModel([{ calls: [{ name: 'add', arguments: { a: 1, b: 2 }, id: 'new' }] }, '3'])
    const agent = createAgent({ model, tools: [countingAdd()], memory: turns(1), instructions: 'Be brief.' })
    const { transcript: whole } = await agent.run([...transcript, { role: 'user', content: '1+2?' }])
    expect(model.requests.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
      ['system', 'user'],
      ['system', 'user', 'assistant', 'tool'],
    ])
    expect(whole).toHaveLength(transcript.length + 4)
  })

  it.each([0, -1, 1.5, Number.NaN])('throws at once for %d turns', (count) => {
    expect(() => turns(count)).toThrow(MisuseError)
  })
})
