import { describe, expect, it } from 'vitest'
import { startingContext } from '../../../src/machines/context.ts'
import { defaultSettings, type OpenCall, type ToolAnswer } from '../../../src/machines/index.ts'
import { look, nothingSeen } from '../../../src/machines/limits/seen.ts'
import { openCalls } from '../../../src/machines/openCalls.ts'
import { turn } from '../scriptedActor.ts'

/** The one call of a step, settled so. */
function call(answer: ToolAnswer): readonly OpenCall[] {
  return openCalls(startingContext('go', defaultSettings), turn('', ['look'])).map((open) => ({
    ...open,
    answer,
  }))
}

const denied = call({ content: 'Error (denied): no', error: 'denied' })
const ok = call({ content: 'ok' })

describe('a step', () => {
  it('that a person did not allow says nothing about news, and is a repetition when it comes again', () => {
    const first = look(nothingSeen, denied)
    expect(first).toMatchObject({ broughtNews: undefined, repeated: [] })
    expect(look(first.seen, denied)).toMatchObject({
      broughtNews: undefined,
      repeated: [{ tool: 'look', position: 0, count: 2 }],
    })
  })

  it.each(['truncated', 'limit_reached', 'cancelled'])(
    'whose calls did not run (%s) leaves no trace',
    (error) => {
      const { seen, ...news } = look(nothingSeen, call({ content: 'Error', error }))
      expect(news).toEqual({ repeated: [], broughtNews: undefined })
      expect(look(seen, ok)).toMatchObject({ broughtNews: true, repeated: [] })
    },
  )

  it('that is looked at twice from the same past comes to the same both times', () => {
    const { seen } = look(nothingSeen, ok)
    const once = look(seen, ok)
    const again = look(seen, ok)
    expect([once.repeated, again.repeated]).toEqual([once.repeated, once.repeated])
    expect(look(once.seen, ok).repeated[0]?.count).toBe(3)
    expect(look(again.seen, ok).repeated[0]?.count).toBe(3)
  })
})
