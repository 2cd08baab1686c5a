import { describe, expect, it } from 'vitest'
import { createAgent, type Journal, memoryJournal } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { expectDone } from '../support/outcome.ts'
import { deferred, returning } from '../support/tools.ts'

describe('an effect that settles while the event that ends its state is being recorded', () => {
  it('is dropped, and neither breaks the run nor spoils its journal', async () => {
    const slow = deferred<string>()
    const kept = memoryJournal()
    const journal: Journal = {
      ...kept,
      async append(runId, entries, length) {
        if (JSON.stringify(entries).includes('deadline.conclude')) {
          slow.resolve('too late')
          await new Promise(setImmediate)
        }
        return kept.append(runId, entries, length)
      },
    }
    const model = scriptedModel([{ calls: [{ name: 'slow' }] }, 'closing'])
    const limits = { time: { conclude: 20, abort: 60_000 } }
    const agent = createAgent({ model, tools: [returning(slow.promise, 'slow')], journal, limits })
    const outcome = expectDone(await agent.run('go', { runId: 'r' }))
    expect(outcome).toMatchObject({ output: 'closing', stoppedBy: { limit: 'time' } })
    expect(expectDone(await agent.resume('r')).output).toBe('closing')
  })
})
