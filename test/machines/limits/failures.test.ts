import { describe, expect, it } from 'vitest'
import { startingContext } from '../../../src/machines/context.ts'
import { defaultSettings, type OpenCall } from '../../../src/machines/index.ts'
import { countFailures, noFailures } from '../../../src/machines/limits/failures.ts'
import { openCalls } from '../../../src/machines/openCalls.ts'
import { turn } from '../scriptedActor.ts'

/** The one call of a step, which succeeds or fails. */
function call(tool: string, error?: string): readonly OpenCall[] {
  const answer = { content: 'result', ...(error === undefined ? {} : { error }) }
  return openCalls(startingContext('go', defaultSettings), turn('', [tool])).map((open) => ({
    ...open,
    answer,
  }))
}

describe('failures', () => {
  it('of one tool are counted by their error until it succeeds, whatever others do', () => {
    const steps = [
      call('a', 'failed'),
      call('b'),
      call('a', 'timeout'),
      call('b', 'failed'),
      call('a', 'failed'),
    ]
    const counted = steps.reduce(countFailures, noFailures)
    expect(counted.streak).toBe(3)
    expect(counted.byTool).toEqual([
      { tool: 'a', error: 'timeout', count: 1 },
      { tool: 'b', error: 'failed', count: 1 },
      { tool: 'a', error: 'failed', count: 2 },
    ])
    expect(counted.ofLastStep).toEqual([{ tool: 'a', error: 'failed', count: 2 }])
    expect(countFailures(counted, call('a')).byTool).toEqual([{ tool: 'b', error: 'failed', count: 1 }])
  })

  it('of ever new tools that do not exist are not remembered for ever', () => {
    let counted = noFailures
    for (let n = 0; n < 200; n++) counted = countFailures(counted, call(`invented${n}`, 'unknown_tool'))
    expect(counted.byTool).toHaveLength(50)
    expect(counted.byTool.at(-1)?.tool).toBe('invented199')
  })
})
