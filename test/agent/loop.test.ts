import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createAgent, defineTool, MisuseError, ModelError } from '../../src/index.ts'
import { HANG, scriptedModel } from '../../src/testing/index.ts'
import { expectAborted, expectDone, expectSendable } from '../support/outcome.ts'
import { countingAdd, deferred, throwing } from '../support/tools.ts'

describe('a run', () => {
  it('answers without tools', async () => {
    const model = scriptedModel(['Hello!'])
    const outcome = expectDone(await createAgent({ model }).run('Hi'))
    expect(outcome.output).toBe('Hello!')
    expect(outcome.steps).toBe(1)
    expect(outcome.transcript).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello!' },
    ])
  })

  it('runs the tools that the model asks for and shows it their results', async () => {
    const add = countingAdd()
    const model = scriptedModel([
      { calls: [{ name: 'add', arguments: { a: 1, b: 2 }, id: 'c1' }] },
      'It is 3.',
    ])
    const outcome = expectDone(
      await createAgent({ model, tools: [add], instructions: 'Be brief.' }).run('1+2?'),
    )
    expect(outcome.output).toBe('It is 3.')
    expect(outcome.toolCalls).toEqual({ total: 1, failed: 0 })
    expect(model.requests[1]?.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: '1+2?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '3' },
    ])
    model.assertFinished()
  })

  it('runs the calls of one reply in parallel and records results in call order', async () => {
    const gates = { slow: deferred<string>(), quick: deferred<string>() }
    const started: string[] = []
    const tool = defineTool({
      name: 'wait',
      description: 'Waits.',
      input: z.object({ which: z.enum(['slow', 'quick']) }),
      run: ({ which }) => {
        started.push(which)
        // Each call lets the other one finish: neither would if they ran one after the other.
        if (started.length === 2) gates.quick.resolve('quick result')
        return gates[which].promise
      },
    })
    const model = scriptedModel([
      {
        calls: [
          { name: 'wait', arguments: { which: 'slow' } },
          { name: 'wait', arguments: { which: 'quick' } },
        ],
      },
      'done',
    ])
    const run = createAgent({ model, tools: [tool] }).stream('go')
    for await (const event of run) {
      if (event.type === 'tool.finished' && event.content === 'quick result')
        gates.slow.resolve('slow result')
    }
    const { transcript } = expectDone(await run.outcome)
    expect(transcript.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      'slow result',
      'quick result',
    ])
  })

  it('adds up the usage of all model calls', async () => {
    const model = scriptedModel([
      { calls: [{ name: 'add', arguments: { a: 1, b: 1 } }], usage: { inputTokens: 10, outputTokens: 5 } },
      { text: '2', usage: { inputTokens: 20, outputTokens: 1, cachedTokens: 8 } },
    ])
    const { usage } = await createAgent({ model, tools: [countingAdd()] }).run('1+1?')
    const total = { inputTokens: 30, outputTokens: 6, cachedTokens: 8, reasoningTokens: 0 }
    expect(usage).toEqual({ ...total, byModel: { scripted: total } })
  })

  it('goes on with a conversation, with one system message in front', async () => {
    const model = scriptedModel(['first', 'second'])
    const agent = createAgent({ model, instructions: 'Be brief.' })
    const first = await agent.run('one')
    await agent.run([...first.transcript, { role: 'user', content: 'two' }])
    expect(model.requests[1]?.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'first' },
      { role: 'user', content: 'two' },
    ])
  })

  it('uses the system message of a given history where the agent has no instructions', async () => {
    const model = scriptedModel(['ok'])
    await createAgent({ model }).run([
      { role: 'system', content: 'From the log.' },
      { role: 'user', content: 'hi' },
    ])
    expect(model.requests[0]?.messages[0]).toEqual({ role: 'system', content: 'From the log.' })
  })

  it('keeps what a provider adds to an assistant message, and sends it back', async () => {
    const reply = {
      text: '',
      toolCalls: [
        { id: 'c', type: 'function' as const, function: { name: 'add', arguments: '{"a":1,"b":2}' } },
      ],
      finish: 'tool_calls' as const,
      usage: { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 },
      message: { role: 'assistant' as const, content: null, reasoning_content: 'hmm' },
    }
    const scripted = scriptedModel(['3'])
    let calls = 0
    const model = {
      id: 'm',
      generate: (...args: Parameters<typeof scripted.generate>) =>
        calls++ === 0 ? Promise.resolve(reply) : scripted.generate(...args),
    }
    await createAgent({ model, tools: [countingAdd()] }).run('1+2?')
    expect(scripted.requests[0]?.messages[1]).toMatchObject({ reasoning_content: 'hmm' })
  })

  it('gives concurrent runs of one agent nothing of each other', async () => {
    const echo = defineTool({
      name: 'echo',
      description: 'Says it again.',
      input: z.object({ text: z.string() }),
      run: ({ text }) => text,
    })
    const model = {
      id: 'm',
      async generate({ messages }: { messages: readonly { role: string; content?: unknown }[] }) {
        const question = messages.find(({ role }) => role === 'user')?.content as string
        const isFirst = messages.at(-1)?.role === 'user'
        const script = scriptedModel([
          isFirst
            ? { calls: [{ name: 'echo', arguments: { text: question } }], usage: { inputTokens: 1 } }
            : { text: `answer to ${question}`, usage: { inputTokens: 1 } },
        ])
        return script.generate(
          { messages: [], tools: [], toolChoice: 'auto' },
          { signal: AbortSignal.any([]) },
        )
      },
    }
    const agent = createAgent({ model, tools: [echo] })
    const questions = Array.from({ length: 50 }, (_, i) => `question ${i}`)
    const outcomes = await Promise.all(questions.map((question) => agent.run(question)))
    outcomes.forEach((outcome, i) => {
      expect(expectDone(outcome).output).toBe(`answer to question ${i}`)
      expect(outcome.usage.inputTokens).toBe(2)
      expect(outcome.transcript.map(({ content }) => content)).toEqual([
        `question ${i}`,
        null,
        `question ${i}`,
        `answer to question ${i}`,
      ])
    })
    expect(new Set(outcomes.map(({ runId }) => runId)).size).toBe(50)
  })
})

describe('call ids', () => {
  it('are made unique where a model repeats or omits them, over the whole request', async () => {
    const call = { name: 'add', arguments: { a: 1, b: 2 } }
    const model = scriptedModel([
      {
        calls: [
          { ...call, id: 'x' },
          { ...call, id: 'x' },
          { ...call, id: '' },
        ],
      },
      { calls: [{ ...call, id: 'x' }] },
      'done',
    ])
    const outcome = expectDone(await createAgent({ model, tools: [countingAdd()] }).run('go'))
    expectSendable(outcome)
    const ids = outcome.transcript.flatMap((message) =>
      message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [],
    )
    expect(ids[0]).toBe('x')
    expect(new Set(ids).size).toBe(4)
  })
})

describe('errors that go back to the model', () => {
  const ask = async (call: { name: string; arguments?: unknown }, tools = [countingAdd()]) => {
    const model = scriptedModel([{ calls: [call] }, 'I see.'])
    const outcome = expectDone(await createAgent({ model, tools }).run('go'))
    expectSendable(outcome)
    const result = outcome.transcript.find(({ role }) => role === 'tool')?.content
    return { result, outcome, tools }
  }

  it('name the tools that there are, when the model calls an unknown one', async () => {
    const { result, outcome } = await ask({ name: 'subtract' })
    expect(result).toContain('Error (unknown_tool): There is no tool named "subtract". Available tools: add.')
    expect(outcome.toolCalls).toEqual({ total: 1, failed: 1 })
  })

  it.each(['constructor', '__proto__', 'toString'])('treat %s as just an unknown tool', async (name) => {
    expect((await ask({ name })).result).toContain('Error (unknown_tool)')
  })

  it('show broken JSON with the schema, and the tool does not run', async () => {
    const { result, tools } = await ask({ name: 'add', arguments: '{"a": 1, "b":' })
    expect(result).toContain('Error (invalid_json)')
    expect(result).toContain('{"a": 1, "b":')
    expect(result).toContain('"required":["a","b"]')
    expect(tools[0]?.runs).toEqual([])
  })

  it('keep arguments in the history that a provider takes back', async () => {
    const { outcome } = await ask({ name: 'add', arguments: '{"a": 1, "b":' })
    const assistant = outcome.transcript.find(({ role }) => role === 'assistant')
    expect(assistant).toMatchObject({ tool_calls: [{ function: { arguments: '{}' } }] })
  })

  it('list what does not fit the schema, with paths', async () => {
    const { result, tools } = await ask({ name: 'add', arguments: { a: 'one' } })
    expect(result).toContain('Error (invalid_arguments)')
    expect(result).toMatch(/- a: .*number/)
    expect(result).toMatch(/- b: /)
    expect(tools[0]?.runs).toEqual([])
  })

  it('take blank arguments for an empty object', async () => {
    const ping = defineTool({ name: 'ping', description: 'Pings.', input: z.object({}), run: () => 'pong' })
    const model = scriptedModel([{ calls: [{ name: 'ping', arguments: ' ' }] }, 'ok'])
    const { transcript } = await createAgent({ model, tools: [ping] }).run('go')
    expect(transcript).toContainEqual(expect.objectContaining({ role: 'tool', content: 'pong' }))
  })

  it.each([
    [new RangeError('too big'), 'RangeError: too big'],
    [new Error('plain'), 'plain'],
    ['a string', 'a string'],
    [undefined, 'undefined'],
    [null, 'null'],
    [Object.freeze({ code: 7 }), '{"code":7}'],
    [Object.create(null), '{}'],
  ])('survive a tool that throws %o', async (thrown, shown) => {
    const model = scriptedModel([{ calls: [{ name: 'fail' }] }, 'I see.'])
    const { transcript } = expectDone(await createAgent({ model, tools: [throwing(thrown)] }).run('go'))
    expect(transcript.find(({ role }) => role === 'tool')?.content).toContain(
      `Error (failed): fail failed: ${shown}\n`,
    )
  })

  it('keep the results of the calls that succeeded beside one that failed', async () => {
    const model = scriptedModel([
      { calls: [{ name: 'fail' }, { name: 'add', arguments: { a: 1, b: 2 } }] },
      'ok',
    ])
    const tools = [throwing(new Error('no')), countingAdd()]
    const { transcript } = await createAgent({ model, tools }).run('go')
    expect(transcript.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      expect.stringContaining('Error (failed): fail failed: no'),
      '3',
    ])
  })
})

describe('replies that are not what they should be', () => {
  it('runs no call of a reply that was cut off, and tells the model why', async () => {
    const add = countingAdd()
    const model = scriptedModel([
      { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }], finish: 'length' },
      { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] },
      '3',
    ])
    const outcome = expectDone(await createAgent({ model, tools: [add] }).run('go'))
    expect(add.runs).toHaveLength(1)
    expect(outcome.transcript[2]?.content).toContain('Error (truncated)')
    expectSendable(outcome)
  })

  it('gives up when replies keep being cut off', async () => {
    const cutOff = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }], finish: 'length' } as const
    const outcome = expectAborted(
      await createAgent({ model: scriptedModel([cutOff, cutOff]), tools: [countingAdd()] }).run('go'),
    )
    expect(outcome.reason).toBe('truncated_response')
    expect(outcome.stoppedBy?.limit).toBe('malformed')
    expectSendable(outcome)
  })

  it('runs calls whatever the finish reason says', async () => {
    const add = countingAdd()
    const model = scriptedModel([
      { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }], finish: 'stop' },
      '3',
    ])
    expectDone(await createAgent({ model, tools: [add] }).run('go'))
    expect(add.runs).toHaveLength(1)
  })

  describe('whose finish reason announces calls that are not there', () => {
    const announced = { text: 'Let me look.', finish: 'tool_calls' } as const
    const call = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }

    it('are questioned once', async () => {
      const model = scriptedModel([announced, call, 'It is 3.'])
      const outcome = expectDone(await createAgent({ model, tools: [countingAdd()] }).run('go'))
      expect(outcome.output).toBe('It is 3.')
      expect(model.requests[1]?.messages.at(-1)?.content).toContain('announced a tool call')
    })

    it('count as the answer the second time, because some servers name the reason wrongly', async () => {
      const model = scriptedModel([announced, { ...announced, text: 'It is 3.' }])
      expect(expectDone(await createAgent({ model }).run('go')).output).toBe('It is 3.')
    })

    it('count as the answer at once where the agent says so', async () => {
      const outcome = await createAgent({ model: scriptedModel([announced]), missingCalls: 'answer' }).run(
        'go',
      )
      expect(expectDone(outcome).output).toBe('Let me look.')
    })
  })

  it('nudges once after an empty reply, then aborts', async () => {
    const model = scriptedModel([{ text: '' }, { text: ' \n' }])
    const outcome = expectAborted(await createAgent({ model }).run('go'))
    expect(outcome.reason).toBe('empty_response')
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'user' })
    expect(model.requests[1]?.messages.at(-1)?.content).toContain('empty')
    expect(outcome.transcript).toEqual([{ role: 'user', content: 'go' }])
  })

  it('forgives an empty reply once an answer has come, and leaves no trace of the nudge', async () => {
    const outcome = expectDone(await createAgent({ model: scriptedModel([{ text: '' }, 'Here.']) }).run('go'))
    expect(outcome.transcript).toEqual([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'Here.' },
    ])
  })

  it('asks again, for less, after an answer that was cut off', async () => {
    const model = scriptedModel([{ text: 'A long ans', finish: 'length' }, 'Short.'])
    expect(expectDone(await createAgent({ model }).run('go')).output).toBe('Short.')
    expect(model.requests[1]?.messages.at(-1)?.content).toContain('cut off')
  })

  it.each([
    ['a content filter', { text: 'par', finish: 'content_filter' as const }],
    ['a refusal', { text: '', refusal: 'I cannot help with that.' }],
  ])('ends at once on %s, without another call', async (_what, reply) => {
    const model = scriptedModel([reply, 'never asked'])
    const outcome = expectAborted(await createAgent({ model }).run('go'))
    expect(outcome.reason).toBe('content_filter')
    expect(model.requests).toHaveLength(1)
  })
})

describe('model errors', () => {
  it('that cannot pass end the run after one call', async () => {
    const model = scriptedModel([
      new ModelError('authentication', 'bad key', { retryable: false, status: 401 }),
    ])
    const outcome = expectAborted(await createAgent({ model }).run('go'))
    expect(outcome).toMatchObject({
      reason: 'model_error',
      message: 'The model call failed: bad key',
      error: { code: 'authentication', status: 401, retryable: false },
    })
    expect(model.requests).toHaveLength(1)
  })

  it('that may pass are tried again, and finished tools do not run again', async () => {
    const add = countingAdd()
    const busy = new ModelError('overloaded', 'busy', { retryable: true, retryAfterMs: 0 })
    const model = scriptedModel([{ calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }, busy, busy, '3'])
    const outcome = expectDone(await createAgent({ model, tools: [add] }).run('go'))
    expect(add.runs).toHaveLength(1)
    expect(outcome.steps).toBe(2)
  })

  it('are given up after the retries that the agent allows', async () => {
    const busy = new ModelError('overloaded', 'busy', { retryable: true, retryAfterMs: 0 })
    const model = scriptedModel([busy, busy])
    const outcome = expectAborted(await createAgent({ model, modelRetries: 1 }).run('go'))
    expect(outcome.message).toBe('The model call failed after 2 attempts: busy')
  })

  it('count their retries for each step anew', async () => {
    const busy = new ModelError('overloaded', 'busy', { retryable: true, retryAfterMs: 0 })
    const call = { calls: [{ name: 'add', arguments: { a: 1, b: 2 } }] }
    const model = scriptedModel([busy, call, busy, 'ok'])
    expectDone(await createAgent({ model, tools: [countingAdd()], modelRetries: 1 }).run('go'))
  })

  it.each([['a string'], [undefined], [null]])('may be anything: %o', async (thrown) => {
    const model = { id: 'm', generate: () => Promise.reject(thrown) }
    expect(expectAborted(await createAgent({ model }).run('go')).reason).toBe('model_error')
  })

  it('may be thrown before there is a promise', async () => {
    const model = {
      id: 'm',
      generate: () => {
        throw new Error('sync')
      },
    }
    expect(expectAborted(await createAgent({ model }).run('go')).message).toContain('sync')
  })
})

describe('misuse', () => {
  const model = scriptedModel([])
  const agent = createAgent({ model })

  it.each([
    ['an empty question', ''],
    ['no messages', []],
    ['messages without a user message', [{ role: 'assistant' as const, content: 'hi' }]],
  ])('rejects %s', async (_what, input) => {
    await expect(agent.run(input)).rejects.toMatchObject({ name: 'MisuseError', code: 'empty_input' })
    expect(() => agent.stream(input)).toThrow(MisuseError)
  })

  it('throws at once for two tools with one name', () => {
    expect(() => createAgent({ model, tools: [countingAdd(), countingAdd()] })).toThrow(
      /Two tools are named "add"/,
    )
  })

  it.each([{ steps: 0 }, { steps: 1.5 }, { steps: Number.NaN }, { errorStreak: -1 }])(
    'throws at once for the limit %o',
    (limits) => {
      expect(() => createAgent({ model, limits })).toThrow(/whole number of at least 1/)
    },
  )

  it('throws at once for a limit that does not exist', () => {
    const limits = { stepz: 3 } as object
    expect(() => createAgent({ model, limits })).toThrow('Unknown limit "stepz". Known limits: steps, ')
  })

  it('rejects a bad limit of a single run', async () => {
    await expect(agent.run({ messages: 'go', limits: { steps: 0 } })).rejects.toThrow(MisuseError)
  })

  it('rejects resuming without a journal', async () => {
    await expect(agent.resume('x')).rejects.toMatchObject({ code: 'no_journal' })
  })

  it('throws at once without a model', () => {
    expect(() => createAgent({} as never)).toThrow(/needs a model/)
  })
})

describe('a model that hangs', () => {
  it('does not keep a run from being aborted', async () => {
    const controller = new AbortController()
    const run = createAgent({ model: scriptedModel([HANG]) }).stream('go', { signal: controller.signal })
    for await (const event of run) if (event.type === 'model.started') controller.abort()
    expect(expectAborted(await run.outcome).reason).toBe('cancelled')
  })
})
