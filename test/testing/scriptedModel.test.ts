import { afterEach, describe, expect, it, vi } from 'vitest'
import { createAgent } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { expectAborted, expectDone } from '../support/outcome.ts'

const request = { messages: [], tools: [], toolChoice: 'auto' } as const
const io = () => ({ signal: new AbortController().signal })

describe('a scripted model', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('complains of a call beyond its script', async () => {
    const model = scriptedModel(['one'])
    await model.generate(request, io())
    await expect(model.generate(request, io())).rejects.toMatchObject({
      code: 'script_exhausted',
      message: 'The scripted model was called 2 times, but its script has 1 steps.',
    })
  })

  it('complains of steps that are left over', async () => {
    const model = scriptedModel(['one', 'two'])
    await model.generate(request, io())
    expect(() => model.assertFinished()).toThrow('The scripted model was called 1 times; 1 steps are left.')
    await model.generate(request, io())
    model.assertFinished()
  })

  it('decides a step from the request', async () => {
    const model = scriptedModel([({ messages }) => `there are ${messages.length} messages`])
    expect(expectDone(await createAgent({ model }).run('hi')).output).toBe('there are 1 messages')
  })

  it('answers after a delay, which an abort cuts short', async () => {
    vi.useFakeTimers()
    const model = scriptedModel([{ text: 'late', delayMs: 100 }, { delayMs: 100 }])
    const running = createAgent({ model }).run('hi')
    await vi.advanceTimersByTimeAsync(100)
    expect(expectDone(await running).output).toBe('late')
    const controller = new AbortController()
    const waiting = model.generate(request, controller)
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
  })

  it('streams in the pieces that it is told, and may break in the middle', async () => {
    const model = scriptedModel([{ pieces: ['Hel', 'lo'] }, { text: 'Hel', breaksWith: new Error('cut') }])
    const texts = async () => {
      const run = createAgent({ model }).stream('hi')
      const pieces: string[] = []
      for await (const event of run) if (event.type === 'model.delta') pieces.push(event.text)
      return { pieces, outcome: await run.outcome }
    }
    const whole = await texts()
    expect(whole.pieces).toEqual(['Hel', 'lo'])
    expect(expectDone(whole.outcome).output).toBe('Hello')
    const broken = await texts()
    expect(broken.pieces).toEqual(['Hel'])
    expect(expectAborted(broken.outcome).message).toContain('cut')
  })
})
