import { describe, expect, it, vi } from 'vitest'
import { type CustomLimit, createAgent, memoryJournal, type RunFacts } from '../../../src/index.ts'
import { createAgentMachine, defaultSettings, policyOf } from '../../../src/machines/index.ts'
import { type ScriptedStep, scriptedModel } from '../../../src/testing/index.ts'
import { expectAborted, expectDone } from '../../support/outcome.ts'
import { countingAdd, throwing } from '../../support/tools.ts'

const adding = (a: number): ScriptedStep => ({ calls: [{ name: 'add', arguments: { a, b: 2 } }] })

const agentWith = (limit: CustomLimit, script: readonly ScriptedStep[]) => {
  const model = scriptedModel(script)
  const tools = [countingAdd(), throwing(new Error('no'))]
  return { model, agent: createAgent({ model, tools, customLimits: { own: limit } }) }
}

/** Whether a result of the step just ended says so. */
const found =
  (text: string, reaction: 'warn' | 'conclude' | 'abort'): CustomLimit =>
  ({ calls }) =>
    calls.some(({ content }) => content === text) ? { reaction, evidence: `found ${text}` } : undefined

describe("a limit of the user's own", () => {
  it('concludes', async () => {
    const { agent } = agentWith(found('4', 'conclude'), [adding(1), adding(2), 'closing'])
    expect(expectDone(await agent.run('go'))).toMatchObject({
      output: 'closing',
      stoppedBy: { limit: 'own', reaction: 'conclude', evidence: 'found 4' },
    })
  })

  it('aborts', async () => {
    const { agent } = agentWith(found('3', 'abort'), [adding(1)])
    expect(expectAborted(await agent.run('go'))).toMatchObject({
      reason: 'limit',
      message: 'found 3',
      stoppedBy: { limit: 'own' },
    })
  })

  it('warns with a note, and the run goes on', async () => {
    const { agent, model } = agentWith(found('3', 'warn'), [adding(1), adding(2), 'answer'])
    const outcome = expectDone(await agent.run('go'))
    expect(outcome.stoppedBy).toBeUndefined()
    expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual([
      'go',
      'Note: found 3',
      '4',
    ])
  })

  it('reads what has happened', async () => {
    const seen: RunFacts[] = []
    const { agent } = agentWith(
      (facts) => {
        seen.push({ ...facts })
        return undefined
      },
      [adding(1), { text: '' }, { calls: [{ name: 'fail' }] }, 'answer'],
    )
    await agent.run('go')
    expect(seen).toHaveLength(3)
    expect(seen[0]).toMatchObject({
      steps: 1,
      toolCalls: 1,
      toolErrors: 0,
      usage: { inputTokens: 1 },
      cost: 0,
      calls: [{ name: 'add', arguments: '{"a":1,"b":2}', content: '3' }],
      transcript: [{ role: 'user' }, { role: 'assistant' }, { role: 'tool' }],
    })
    expect(seen[1]).toMatchObject({ steps: 2, malformed: 1, calls: [] })
    expect(seen[2]).toMatchObject({
      steps: 3,
      malformed: 0,
      toolErrors: 1,
      errorStreak: 1,
      calls: [{ error: 'failed' }],
    })
    for (const { elapsedMs } of seen) expect(elapsedMs).toBeGreaterThanOrEqual(0)
  })

  it('is asked after a reply without calls, too', async () => {
    const { agent } = agentWith(
      ({ malformed }) => (malformed > 0 ? { reaction: 'conclude', evidence: 'silence' } : undefined),
      [{ text: '' }, 'closing'],
    )
    expect(expectDone(await agent.run('go')).stoppedBy?.limit).toBe('own')
  })

  it('does not take an answer away', async () => {
    const { agent } = agentWith(() => ({ reaction: 'abort', evidence: 'always' }), ['answer'])
    expect(expectDone(await agent.run('go')).output).toBe('answer')
  })

  it('decides where it is stricter than the limits that there are', async () => {
    const { agent } = agentWith(
      ({ steps }) => (steps === 8 ? { reaction: 'abort', evidence: 'eight' } : undefined),
      [1, 2, 3, 4, 5, 6, 7, 8].map(adding),
    )
    expect(expectAborted(await agent.run('go')).stoppedBy?.limit).toBe('own')
  })

  it('comes to the same on a replay', async () => {
    const journal = memoryJournal()
    const options = { tools: [countingAdd()], journal, customLimits: { own: found('4', 'conclude') } }
    const make = (script: readonly ScriptedStep[]) =>
      createAgent({ ...options, model: scriptedModel(script) })
    const { durationMs: _ms, ...outcome } = await make([adding(1), adding(2), 'closing']).run('go', {
      runId: 'r',
    })
    const { durationMs: _again, ...replayed } = await make([]).resume('r')
    expect(replayed).toEqual(outcome)
  })
})

describe('a limit that breaks', () => {
  it.each<[string, unknown, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('oops')
      },
      /The limit "own" threw: oops\. It is ignored\./,
    ],
    ['returns something else', () => 'stop', /must return nothing or \{ reaction, evidence \}/],
    ['returns an unknown reaction', () => ({ reaction: 'explode', evidence: 'x' }), /must return nothing or/],
    [
      'returns a promise',
      async () => {
        throw new Error('late')
      },
      /returned a promise/,
    ],
  ])('because it %s is reported once and bounds nothing', async (_what, limit, warning) => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { agent } = agentWith(limit as CustomLimit, [adding(1), adding(2), 'answer'])
    expect(expectDone(await agent.run('go')).output).toBe('answer')
    expect(warned.mock.calls).toEqual([[expect.stringMatching(warning), { code: 'LOOPCHART_LIMIT' }]])
    warned.mockRestore()
  })

  it('does not end a machine that is made without an agent', () => {
    const own: CustomLimit = () => {
      throw new Error('oops')
    }
    expect(() => createAgentMachine(defaultSettings, policyOf({ customLimits: { own } }))).not.toThrow()
  })

  it.each([
    ['no function', { own: 'stop' }],
    ['the name of a limit that exists', { steps: () => undefined }],
  ])('is refused at once where it has %s', (_what, customLimits) => {
    expect(() => createAgent({ model: scriptedModel([]), customLimits: customLimits as never })).toThrow(
      expect.objectContaining({ name: 'MisuseError', code: 'invalid_limit' }),
    )
  })
})
