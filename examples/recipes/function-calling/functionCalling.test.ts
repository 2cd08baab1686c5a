import { countTokens, defineTool, type Message, openaiChat, type Tool } from 'loopchart'
import { type ScriptedReply, type ScriptedStep, scriptedModel } from 'loopchart/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { completion, loopback } from '../../../test/support/loopback.ts'
import { expectAborted, expectDone } from '../../../test/support/outcome.ts'
import { printedWithoutKey } from '../../../test/support/printed.ts'
import { functionCalling, main } from './functionCalling.ts'

const asking = (city: unknown, name = 'get_weather'): ScriptedReply => ({
  calls: [{ name, arguments: { city } }],
})
const results = (transcript: readonly Message[]): string[] =>
  transcript.flatMap((message) => (message.role === 'tool' ? [message.content] : []))
const wordy = (text: string): Tool =>
  defineTool({
    name: 'read',
    description: 'Reads.',
    input: z.object({ page: z.number() }),
    maxResultCharacters: 800,
    run: ({ page }) => `page ${page} ${text}`,
  })

describe('the recipe function-calling', () => {
  it('speaks tool calling over HTTP, and validates arguments before a tool runs', async () => {
    const call = (args: string) =>
      completion({
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'get_weather', arguments: args } }],
      })
    const server = await loopback([
      call('{"city":"Paris","unit":"K"}'),
      call('{"city":"Paris"}'),
      completion({ content: '21 °C' }),
    ])
    const agent = functionCalling(openaiChat('m', { baseURL: server.baseURL }))
    const outcome = expectDone(await agent.run('How warm is Paris?'))
    await server[Symbol.asyncDispose]()

    expect(outcome.output).toBe('21 °C')
    expect(server.requests[0]?.body).toMatchObject({
      messages: [{ role: 'system' }, { role: 'user', content: 'How warm is Paris?' }],
      tools: [{ type: 'function', function: { name: 'get_weather', parameters: { required: ['city'] } } }],
    })
    const [refused, answered] = results(outcome.transcript)
    expect(refused).toMatch(
      /^Error \(invalid_arguments\): .*\n- unit: .*\nYou sent: \{"city":"Paris","unit":"K"\}/,
    )
    expect(answered).toBe('{"city":"Paris","temperature":21,"unit":"C"}')
    expect(outcome.usage, 'three calls of 3 tokens in and 2 out').toMatchObject({
      inputTokens: 9,
      outputTokens: 6,
    })
  })

  it('shows the system message and the last six turns', async () => {
    const model = scriptedModel(Array.from({ length: 8 }, (_, n) => `answer ${n}`))
    const conversation = functionCalling(model).session('s')
    for (let n = 0; n < 8; n++) await conversation.run(`question ${n}`)
    const [system, ...shown] = model.requests.at(-1)?.messages ?? []
    expect(system?.role).toBe('system')
    expect(shown.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual(
      [2, 3, 4, 5, 6, 7].map((n) => `question ${n}`),
    )
  })

  it('counts tokens, and stays within them inside the six turns', async () => {
    const model = scriptedModel(Array.from({ length: 5 }, () => 'word '.repeat(5000)))
    const conversation = functionCalling(model).session('s')
    for (let n = 0; n < 5; n++) await conversation.run(`question ${n}`)
    const shown = model.requests.at(-1)?.messages ?? []
    const counted = shown.reduce((sum, { content }) => sum + countTokens(String(content)), 0)
    expect(counted).toBeGreaterThan(10_000)
    expect(counted).toBeLessThanOrEqual(16_000)
  })

  it('cuts a result at 800 characters, and says so', async () => {
    const model = scriptedModel([{ calls: [{ name: 'read', arguments: { page: 1 } }] }, 'long'])
    const outcome = await functionCalling(model, [wordy('x'.repeat(5000))]).run('Read.')
    const [result = ''] = results(outcome.transcript)
    expect(result.length).toBeLessThanOrEqual(800)
    expect(result).toMatch(/^page 1 x+\n… \(\d+ of 5007 characters left out/)
  })

  it('makes at most 8 model calls; then the run is aborted and says why', async () => {
    const model = scriptedModel(
      Array.from(
        { length: 9 },
        (_, page): ScriptedStep => ({ calls: [{ name: 'read', arguments: { page } }] }),
      ),
    )
    const outcome = expectAborted(await functionCalling(model, [wordy('')]).run('Read everything.'))
    expect(model.requests).toHaveLength(8)
    expect(outcome).toMatchObject({
      reason: 'limit',
      message: 'after 8 model calls the model still asked for tools or gave no answer',
      stoppedBy: { limit: 'steps', max: 8 },
    })
  })

  it('answers an unknown tool with those that there are', async () => {
    const model = scriptedModel([asking('Paris', 'weather'), 'sorry'])
    const outcome = await functionCalling(model).run('How warm is Paris?')
    expect(results(outcome.transcript)[0]).toMatch(
      /^Error \(unknown_tool\): There is no tool named "weather"\. Available tools: get_weather\./,
    )
  })

  it('gives back an exception with its type and message, by which the model corrects itself', async () => {
    const model = scriptedModel([
      asking('Pariss'),
      ({ messages }) =>
        String(messages.at(-1)?.content).includes('RangeError: there is no station in Pariss')
          ? asking('Paris')
          : 'no idea',
      '21 °C',
    ])
    const outcome = expectDone(await functionCalling(model).run('How warm is Paris?'))
    expect(outcome.output).toBe('21 °C')
    expect(outcome.toolCalls).toEqual({ total: 2, failed: 1 })
  })

  it('aborts after three errors in a row, over all tools', async () => {
    const model = scriptedModel([asking('Rome'), asking('Rome', 'wether'), asking(7)])
    const outcome = expectAborted(await functionCalling(model).run('How warm is Rome?'))
    expect(outcome).toMatchObject({
      reason: 'limit',
      message: '3 tool calls in a row failed',
      stoppedBy: { limit: 'errorStreak', max: 3 },
    })
  })

  it('counts them anew after a success', async () => {
    const steps = [asking('Rome'), asking('Bern'), asking('Oslo'), asking('Bonn'), asking('Ulm'), 'cold']
    const outcome = expectDone(await functionCalling(scriptedModel(steps)).run('How warm is it?'))
    expect(outcome.toolCalls).toEqual({ total: 5, failed: 4 })
  })

  it('counts them anew after a success of any tool', async () => {
    const reading = (page: number): ScriptedReply => ({ calls: [{ name: 'read', arguments: { page } }] })
    const failing = defineTool({
      name: 'get_weather',
      description: 'Fails.',
      input: z.object({ city: z.string() }),
      run: () => {
        throw new RangeError('there is no station')
      },
    })
    const steps = [
      asking('Rome'),
      reading(1),
      asking('Bern'),
      reading(2),
      asking('Bonn'),
      reading(3),
      'no idea',
    ]
    const agent = functionCalling(scriptedModel(steps), [failing, wordy('')])
    const outcome = expectDone(await agent.run('How warm is it?'))
    expect(outcome).toMatchObject({ output: 'no idea', toolCalls: { total: 6, failed: 3 } })
  })
})

describe('the program', () => {
  it('runs without a key and without the network', async () => {
    const printed = await printedWithoutKey(main)
    expect(printed.flat()).toEqual([
      expect.stringContaining('21'),
      expect.stringMatching(/^\d+ tokens in, \d+ out$/),
      expect.stringContaining('9'),
      expect.stringMatching(/^\d+ tokens in, \d+ out$/),
    ])
  })
})
