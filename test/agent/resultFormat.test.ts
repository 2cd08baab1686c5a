import { describe, expect, it, vi } from 'vitest'
import {
  type AnsweredCall,
  createAgent,
  type Message,
  type ResultFormat,
  resultEnvelope,
} from '../../src/index.ts'
import { HANG, type ScriptedStep, scriptedModel } from '../../src/testing/index.ts'
import { expectSendable, rejectionOf } from '../support/outcome.ts'
import { countingAdd, throwing } from '../support/tools.ts'

const add = (args: unknown) => ({ name: 'add', arguments: args })
const one: ScriptedStep = { calls: [add({ a: 1, b: 2 })] }
const contents = (transcript: readonly Message[]): string[] =>
  transcript.flatMap((message) => (message.role === 'tool' ? [message.content] : []))

async function resultsOf(steps: readonly ScriptedStep[], resultFormat?: ResultFormat) {
  const agent = createAgent({
    model: scriptedModel(steps),
    tools: [countingAdd(), throwing(new RangeError('no'))],
    ...(resultFormat === undefined ? {} : { resultFormat }),
  })
  const outcome = await agent.run('go')
  expectSendable(outcome)
  return contents(outcome.transcript)
}

describe('the envelope of results', () => {
  it('says of each call whether it succeeded, and holds the result as a value or the error as text', async () => {
    const calls = [add({ a: 1, b: 2 }), add('{"a": 1'), add({ a: 'x' }), { name: 'fail' }, { name: 'gone' }]
    const envelopes = (await resultsOf([{ calls }, 'ok'], resultEnvelope)).map((content) =>
      JSON.parse(content),
    )
    expect(envelopes).toEqual([
      { success: true, result: 3 },
      { success: false, error: expect.stringMatching(/^Error \(invalid_json\).*\nYou sent: \{"a": 1\n/) },
      { success: false, error: expect.stringContaining('Error (invalid_arguments)') },
      { success: false, error: expect.stringContaining('RangeError: no') },
      { success: false, error: expect.stringContaining('Available tools: add, fail') },
    ])
  })

  it('holds calls that were never run, and what a limit warns of', async () => {
    const [whole, again] = await resultsOf([one, one, 'ok'], resultEnvelope)
    expect(whole).toBe('{"success":true,"result":3}')
    expect(JSON.parse(again ?? '')).toEqual({
      success: true,
      result: 3,
      note: expect.stringContaining('with the same arguments 2 times'),
    })
    const cut = await resultsOf([{ calls: [add({})], finish: 'length' }, 'ok'], resultEnvelope)
    expect(JSON.parse(cut[0] ?? '')).toEqual({ success: false, error: expect.stringContaining('truncated') })
  })

  it('leaves text that is no JSON as it is, and the digits of long numbers', () => {
    expect(resultEnvelope({ tool: 't', arguments: '{}', content: '{"id": 12345678901234567890}' })).toContain(
      '"result":{"id": 12345678901234567890}}',
    )
    expect(resultEnvelope({ tool: 't', arguments: '{}', content: 'sunny' })).toBe(
      '{"success":true,"result":"sunny"}',
    )
    expect(resultEnvelope({ tool: 't', arguments: '{}', content: 'null' })).toBe(
      '{"success":true,"result":null}',
    )
  })

  it('stands around the calls of a run that is stopped', async () => {
    const agent = createAgent({
      model: scriptedModel([one, HANG]),
      tools: [countingAdd()],
      resultFormat: resultEnvelope,
    })
    const run = agent.stream('go')
    for await (const { type } of run) if (type === 'tool.started') run.abort()
    for (const content of contents((await run.outcome).transcript))
      expect(JSON.parse(content).success).toBe(false)
  })
})

describe('a format of results', () => {
  it('is given the tool, its arguments, the text, and the code of an error', async () => {
    const seen: AnsweredCall[] = []
    const results = await resultsOf([{ calls: [add({ a: 1, b: 2 }), { name: 'gone' }] }, 'ok'], (call) => {
      seen.push(call)
      return `[${call.error ?? 'ok'}]`
    })
    expect(results).toEqual(['[ok]', '[unknown_tool]'])
    expect(seen[0]).toEqual({ tool: 'add', arguments: '{"a":1,"b":2}', content: '3' })
  })

  it('that throws, or gives back no text, is replaced by the plain text', async () => {
    const broken: ResultFormat = () => {
      throw new Error('broken')
    }
    expect(await resultsOf([one, 'ok'], broken)).toEqual(['3'])
    expect(await resultsOf([one, 'ok'], (() => 7) as never)).toEqual(['3'])
    const later = async () => {
      throw new Error('later')
    }
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    expect(await resultsOf([one, one, 'ok'], later as never)).toHaveLength(2)
    expect(warned).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('returned a promise'), {
      code: 'LOOPCHART_RESULT_FORMAT',
    })
    warned.mockRestore()
  })

  it('hides no repetition from the limits', async () => {
    let n = 0
    const stamped: ResultFormat = ({ content, note = '' }) => `${n++} ${content} ${note}`
    expect((await resultsOf([one, one, 'ok'], stamped))[1]).toContain('with the same arguments 2 times')
  })

  it('has to be a function', async () => {
    const wrong = async () => createAgent({ model: scriptedModel([]), resultFormat: 'json' as never })
    expect(await rejectionOf(wrong())).toMatchObject({ code: 'invalid_option' })
  })
})
