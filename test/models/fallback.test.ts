import { describe, expect, it } from 'vitest'
import {
  type AgentEvent,
  createAgent,
  fallback,
  type Model,
  ModelError,
  type ModelErrorCode,
} from '../../src/index.ts'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { expectAborted, expectDone } from '../support/outcome.ts'

const named = (id: string, script: readonly ScriptedStep[]): Model & ReturnType<typeof scriptedModel> => ({
  ...scriptedModel(script),
  id,
})
const failing = (code: ModelErrorCode, retryable: boolean) =>
  new ModelError(code, code, { retryable, retryAfterMs: 0 })

describe('fallback', () => {
  it('leaves the others alone while the first model answers', async () => {
    const second = named('b', [])
    const outcome = expectDone(await createAgent({ model: fallback([named('a', ['hi']), second]) }).run('go'))
    expect(outcome.answeredBy).toEqual([{ model: 'a', fromStep: 1 }])
    expect(second.requests).toEqual([])
  })

  it.each(['overloaded', 'authentication', 'not_found', 'quota_exceeded'] as const)(
    'asks the next model at once on %s',
    async (code) => {
      const first = named('a', [failing(code, code === 'overloaded')])
      const outcome = expectDone(
        await createAgent({ model: fallback([first, named('b', ['hi'])]) }).run('go'),
      )
      expect(outcome.answeredBy).toEqual([{ model: 'b', fromStep: 1 }])
      expect(first.requests).toHaveLength(1)
    },
  )

  it('asks the next model once the retries of the first are used up', async () => {
    const busy = failing('rate_limit', true)
    const first = named('a', [busy, busy])
    const model = fallback([first, named('b', ['hi'])])
    const outcome = expectDone(await createAgent({ model, modelRetries: 1 }).run('go'))
    expect(first.requests).toHaveLength(2)
    expect(outcome.answeredBy).toEqual([{ model: 'b', fromStep: 1 }])
  })

  it('hands on no error that would be the same everywhere', async () => {
    const second = named('b', ['hi'])
    const model = fallback([named('a', [failing('bad_request', false)]), second])
    expect(expectAborted(await createAgent({ model }).run('go')).error?.code).toBe('bad_request')
    expect(second.requests).toEqual([])
  })

  it('asks the next model after a content filter only where that is wanted', async () => {
    const filtered: ScriptedStep = { text: '', finish: 'content_filter' }
    const models = () => [named('a', [filtered]), named('b', ['hi'])]
    expect(expectAborted(await createAgent({ model: fallback(models()) }).run('go')).reason).toBe(
      'content_filter',
    )
    const model = fallback(models(), { onContentFilter: true })
    expectDone(await createAgent({ model }).run('go'))
  })

  it('fails with the last error where no model answers', async () => {
    const model = fallback([
      named('a', [failing('not_found', false)]),
      named('b', [failing('permission', false)]),
    ])
    expect(expectAborted(await createAgent({ model }).run('go')).error?.code).toBe('permission')
  })

  it('tells which model answered each step', async () => {
    const call: ScriptedStep = { calls: [{ name: 'nope' }] }
    const first = named('a', [call, failing('overloaded', true), 'done'])
    const model = fallback([first, named('b', [call])])
    const { answeredBy } = expectDone(await createAgent({ model }).run('go'))
    expect(answeredBy).toEqual([
      { model: 'a', fromStep: 1 },
      { model: 'b', fromStep: 2 },
      { model: 'a', fromStep: 3 },
    ])
  })

  it('takes back what the first model has shown', async () => {
    const breaking: ScriptedStep = (_request, io) => {
      io.onDelta?.({ text: 'Hel' })
      return failing('overloaded', true)
    }
    const events: AgentEvent[] = []
    const run = createAgent({ model: fallback([named('a', [breaking]), named('b', ['Bye.'])]) }).stream('go')
    for await (const event of run) events.push(event)
    const shown = events.flatMap((event) =>
      event.type === 'model.delta' ? [event.text] : event.type === 'model.reset' ? ['⟲'] : [],
    )
    expect(shown).toEqual(['Hel', '⟲', 'Bye.'])
  })

  it('needs a model', () => {
    expect(() => fallback([])).toThrow(/at least one model/)
  })
})
