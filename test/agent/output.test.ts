import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { createAgent, memoryJournal, openaiChat } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { completion, loopback } from '../support/loopback.ts'
import { expectAborted, expectDone } from '../support/outcome.ts'
import { countingAdd } from '../support/tools.ts'

const output = z.object({ sum: z.number(), on: z.string().transform((text) => new Date(text)) })
const good = '{"sum": 3, "on": "2026-01-02"}'
const adding = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }

describe('an agent with an output schema', () => {
  it('answers with what the schema makes of the text, typed', async () => {
    const agent = createAgent({ model: scriptedModel([adding, good]), tools: [countingAdd()], output })
    const outcome = expectDone(await agent.run('1+2?'))
    expectTypeOf(outcome.output).toEqualTypeOf<{ sum: number; on: Date }>()
    expect(outcome.output).toEqual({ sum: 3, on: new Date('2026-01-02') })
  })

  it.each([
    ['in a fence', `\`\`\`json\n${good}\n\`\`\``],
    ['with words around it', `Here you are: ${good} Enjoy.`],
    ['with a comma too many', '{"sum": 3, "on": "2026-01-02",}'],
  ])('reads JSON %s', async (_how, text) => {
    const outcome = expectDone(await createAgent({ model: scriptedModel([text]), output }).run('go'))
    expect(outcome.output.sum).toBe(3)
  })

  it('asks again, saying what was wrong, after an answer that does not fit', async () => {
    const model = scriptedModel(['{"sum": "three", "on": "x"}', good])
    const outcome = expectDone(await createAgent({ model, output }).run('go'))
    expect(outcome.output.sum).toBe(3)
    const reminder = model.requests[1]?.messages.at(-1)
    expect(reminder?.role).toBe('user')
    expect(reminder?.content).toMatch(/does not fit its schema: sum: /)
    expect(outcome.transcript).toHaveLength(2)
  })

  it('gives up after the bounded number of reminders, with what there was', async () => {
    const outcome = expectAborted(
      await createAgent({ model: scriptedModel(['three', 'three!']), output }).run('go'),
    )
    expect(outcome).toMatchObject({
      reason: 'malformed_response',
      partial: 'three!',
      stoppedBy: { limit: 'malformed', max: 2 },
    })
  })

  it('keeps the form at a limit, where the closing call asks for it too', async () => {
    const model = scriptedModel([adding, good])
    const agent = createAgent({ model, tools: [countingAdd()], output, limits: { steps: 1 } })
    const outcome = expectDone(await agent.run('go'))
    expect(outcome.stoppedBy?.limit).toBe('steps')
    expect(outcome.output.sum).toBe(3)
    expect(model.requests[1]?.responseFormat).toMatchObject({ type: 'json_schema' })
  })

  it('aborts with the partial text where the closing answer does not fit', async () => {
    const model = scriptedModel([adding, 'about three'])
    const agent = createAgent({ model, tools: [countingAdd()], output, limits: { steps: 1 } })
    expect(expectAborted(await agent.run('go'))).toMatchObject({
      reason: 'no_closing_answer',
      partial: expect.stringMatching(/^about three\n/),
    })
  })

  it('tells the model the schema, in a system message that never changes', async () => {
    const model = scriptedModel([adding, good])
    await createAgent({ model, tools: [countingAdd()], output, instructions: 'Be brief.' }).run('go')
    const systems = model.requests.map(({ messages }) => messages[0]?.content)
    expect(systems[0]).toContain('Be brief.\n\nWhen you give your final answer')
    expect(systems[0]).toContain('"sum":{"type":"number"}')
    expect(systems[1]).toBe(systems[0])
  })

  it('asks the provider for the schema, or for JSON, or for nothing', async () => {
    for (const [jsonMode, expected] of [
      ['schema', { type: 'json_schema', json_schema: { name: 'answer', schema: expect.anything() } }],
      ['object', { type: 'json_object' }],
      ['none', undefined],
    ] as const) {
      await using server = await loopback([completion({ content: good })])
      const model = openaiChat('m', { baseURL: server.baseURL, jsonMode })
      expectDone(await createAgent({ model, output }).run('go'))
      expect(server.requests[0]?.body.response_format).toEqual(expected)
    }
  })

  it('gives the same value when the run is resumed from its journal', async () => {
    const journal = memoryJournal()
    await createAgent({ model: scriptedModel([good]), output, journal }).run('go', { runId: 'r' })
    const resumed = await createAgent({ model: scriptedModel([]), output, journal }).resume('r')
    expect(expectDone(resumed).output.on).toEqual(new Date('2026-01-02'))
    const other = createAgent({ model: scriptedModel([]), output: z.object({ name: z.string() }), journal })
    expect(expectAborted(await other.resume('r')).reason).toBe('malformed_response')
  })

  it.each([
    ['not an object', z.string() as z.ZodType<unknown>],
    ['nothing that JSON Schema can express', z.object({ at: z.date() })],
  ])('is refused at once where the schema is %s', (_what, schema) => {
    expect(() => createAgent({ model: scriptedModel([]), output: schema })).toThrow(/output/)
  })
})
