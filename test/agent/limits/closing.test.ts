import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createAgent, limitTexts, ModelError, memoryJournal } from '../../../src/index.ts'
import { type ScriptedStep, scriptedModel } from '../../../src/testing/index.ts'
import { expectAborted, expectDone, expectSendable } from '../../support/outcome.ts'
import { countingAdd, returning } from '../../support/tools.ts'

const adding: ScriptedStep = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
const broken = new ModelError('bad_request', 'no such thing', { retryable: false })
const limits = { steps: 1 }

describe('a closing answer', () => {
  it('is of the form that was asked for', async () => {
    const output = z.object({ sum: z.number() })
    const model = scriptedModel([adding, '{"sum":3}'])
    const outcome = expectDone(await createAgent({ model, tools: [countingAdd()], limits, output }).run('go'))
    expect(outcome.output.sum).toBe(3)
    expect(model.requests[1]?.responseFormat?.type).toBe('json_schema')
    expect(outcome.stoppedBy?.limit).toBe('steps')
  })

  it('that is not of that form is none, and is what there is', async () => {
    const output = z.object({ sum: z.number() })
    const model = scriptedModel([adding, 'three'])
    const outcome = expectAborted(
      await createAgent({ model, tools: [countingAdd()], limits, output }).run('go'),
    )
    expect(outcome).toMatchObject({
      reason: 'no_closing_answer',
      partial: 'three\n\nNo answer was reached. The last results were:\n- add: 3',
    })
  })

  it('comes after a limit whose run cannot call a tool any more, whatever the model asks for', async () => {
    const add = countingAdd()
    const model = scriptedModel([adding, { ...(adding as object), text: 'closing' }])
    expectDone(await createAgent({ model, tools: [add], limits }).run('go'))
    expect(add.runs).toHaveLength(1)
  })
})

describe('where the closing call fails', () => {
  const failing = async (script: readonly ScriptedStep[], options: object = {}) =>
    expectAborted(
      await createAgent({ model: scriptedModel(script), tools: [countingAdd()], limits, ...options }).run(
        'go',
      ),
    )

  it('the outcome carries the last results', async () => {
    const outcome = await failing([adding, broken])
    expect(outcome.reason).toBe('no_closing_answer')
    expect(outcome.partial).toBe('No answer was reached. The last results were:\n- add: 3')
    expectSendable(outcome)
  })

  it('and the last words of the model', async () => {
    const outcome = await failing([{ ...(adding as object), text: 'Let me add.' }, broken])
    expect(outcome.partial).toBe('Let me add.\n\nNo answer was reached. The last results were:\n- add: 3')
  })

  it('results are shortened, well-formed, and not all are shown', async () => {
    const long = returning(Promise.resolve(`${'x'.repeat(499)}😀 and more`), 'long')
    const calls = Array.from({ length: 7 }, (_, n) => ({ name: 'long', arguments: { n } }))
    const { partial = '' } = await failing([{ calls }, broken], { tools: [long] })
    expect(partial.match(/^- long: x{499}…$/gm)).toHaveLength(5)
    expect(partial.isWellFormed()).toBe(true)
  })

  it('a run without any result has a plain text', async () => {
    const outcome = await failing([{ text: '' }, broken], { limits: { malformed: { conclude: 1 } } })
    expect(outcome.partial).toBe('No answer was reached, and no result was found.')
  })

  it('results of an earlier turn are not among them', async () => {
    const history = [
      { role: 'user', content: 'Add.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'add', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'of an earlier turn' },
      { role: 'user', content: 'And now?' },
    ] as const
    const agent = createAgent({
      model: scriptedModel([{ text: '' }, broken]),
      limits: { malformed: { conclude: 1 } },
    })
    const outcome = expectAborted(await agent.run(history))
    expect(outcome.partial).toBe('No answer was reached, and no result was found.')
  })

  it('results are there where a message was sent after them', async () => {
    const model = scriptedModel([adding, broken])
    const run = createAgent({ model, tools: [countingAdd()], limits }).stream('go')
    for await (const event of run) if (event.type === 'tool.started') void run.send('Quickly!')
    const outcome = expectAborted(await run.outcome)
    expect(outcome.transcript.at(-1)).toEqual({ role: 'user', content: 'Quickly!' })
    expect(outcome.partial).toContain('- add: 3')
  })

  it('a run that a limit did not end has only what the model said', async () => {
    const outcome = await failing([adding, broken], { limits: {} })
    expect(outcome).toMatchObject({ reason: 'model_error' })
    expect(outcome.partial).toBeUndefined()
  })
})

describe('what the model is told', () => {
  it('can be Chinese', async () => {
    const model = scriptedModel([{ text: '' }, adding, adding, '回答'])
    const agent = createAgent({ model, tools: [countingAdd()], limits: { steps: 3 }, texts: limitTexts.zh })
    await agent.run('请计算')
    const last = model.requests.map(({ messages }) => messages.at(-1)?.content)
    expect(last[1]).toBe(limitTexts.zh.emptyReply)
    expect(last[3]).toBe(limitTexts.zh.closing)
    expect(model.requests[3]?.messages.at(-2)?.content).toContain('（注意：你已经以相同参数调用 add 2 次')
  })

  it('can be replaced in part', async () => {
    const model = scriptedModel([adding, 'ok'])
    const texts = { ...limitTexts.en, closing: 'Be done.' }
    await createAgent({ model, tools: [countingAdd()], limits, texts }).run('go')
    expect(model.requests[1]?.messages.at(-1)?.content).toBe('Be done.')
  })

  it('is English where a text of one’s own throws, or is none', async () => {
    const model = scriptedModel([adding, adding, adding, broken])
    const warnings = {
      ...limitTexts.en.warnings,
      repeats: () => {
        throw new Error('oops')
      },
    }
    const texts = { ...limitTexts.en, warnings, noAnswer: () => undefined as never }
    const outcome = expectAborted(await createAgent({ model, tools: [countingAdd()], texts }).run('go'))
    expect(outcome.transcript[4]?.content).toContain('(Note: you have called add')
    expect(outcome.partial).toContain('No answer was reached.')
  })

  it.each([
    ['not all there', { closing: 'Be done.' }],
    ['of another kind', { ...limitTexts.en, closing: () => 'Be done.' }],
    ['empty', { ...limitTexts.en, closing: ' ' }],
    ['without a warning', { ...limitTexts.en, warnings: {} }],
    ['nothing', null],
  ])('is refused at once where the texts are %s', (_what, texts) => {
    expect(() => createAgent({ model: scriptedModel([]), texts: texts as never })).toThrow(
      expect.objectContaining({ name: 'MisuseError', code: 'invalid_texts' }),
    )
  })

  it.each([
    [
      'a text of one’s own',
      { texts: { ...limitTexts.en, closing: 'Be \ud800done.' } },
      'Be �done.',
      [adding],
    ],
    [
      'a limit of one’s own',
      { customLimits: { own: () => ({ reaction: 'warn' as const, evidence: 'cut \ud83d' }) }, limits: {} },
      'cut �',
      [adding],
    ],
    [
      'what a schema says of an answer',
      { output: z.object({ n: z.string().refine(() => false, { error: 'not \ud83d' }) }), limits: {} },
      'not �',
      ['{"n":"x"}'],
    ],
  ] as const)('can be sent whatever stands in it: %s', async (_what, options, told, script) => {
    const model = scriptedModel([...script, 'ok', 'ok'])
    await createAgent({ model, tools: [countingAdd()], limits, ...options }).run('go')
    const note = String(model.requests[1]?.messages.at(-1)?.content)
    expect(note).toContain(told)
    expect(note.isWellFormed()).toBe(true)
  })

  it('has a text for every limit in both languages, with what it is about', () => {
    for (const texts of [limitTexts.en, limitTexts.zh]) {
      for (const [limit, say] of Object.entries(texts.warnings)) {
        expect(say({ count: 4, max: 3 }).length, limit).toBeGreaterThan(15)
      }
      expect(texts.warnings.repeats({ count: 4, max: 3, tool: 'look' })).toMatch(/look.*4|4.*look/)
      expect(texts.warnings.errorStreak({ count: 4, max: 3, tool: 'look' })).toMatch(/look.*4/)
      expect(texts.customWarning({ limit: 'own', evidence: 'too loud' })).toContain('too loud')
      expect(texts.noAnswer({ said: undefined, results: [] }).length).toBeGreaterThan(10)
      expect(texts.noAnswer({ said: 'Well.', results: [{ tool: 'look', content: 'seen' }] })).toMatch(
        /^Well\.\n\n.*\n- look.*seen$/,
      )
    }
  })

  it('enters the transcript only below the result of a repeated call', async () => {
    const model = scriptedModel([adding, adding, { text: '' }, 'answer'])
    const { transcript } = await createAgent({ model, tools: [countingAdd()] }).run('go')
    expect(transcript.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ])
    expect(transcript[4]?.content).toContain('(Note:')
  })

  it('is the same after a resume', async () => {
    const journal = memoryJournal()
    const make = (script: readonly ScriptedStep[]) =>
      createAgent({ model: scriptedModel(script), tools: [countingAdd()], journal })
    const { durationMs: _ms, ...outcome } = await make([adding, adding, 'ok']).run('go', { runId: 'r' })
    const { durationMs: _again, ...again } = await make([]).resume('r')
    expect(again).toEqual(outcome)
  })
})

describe('the transitions that a limit decides', () => {
  it('carry what it found', async () => {
    const model = scriptedModel([adding, 'closing'])
    const run = createAgent({ model, tools: [countingAdd()], limits }).stream('go')
    const verdicts: unknown[] = []
    for await (const event of run) {
      if (event.type === 'transition' && event.verdict)
        verdicts.push([event.to, event.guard, event.verdict.limit])
    }
    expect(verdicts).toEqual([['concluding', 'limitConcludes', 'steps']])
  })
})
